//! AlterConfigs and IncrementalAlterConfigs: planned on what is persisted, answered when the
//! records are. One change is under way at a time; the next waits for it.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;

use bytes::Bytes;
use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::alter_configs_request as full;
use kacrab_protocol::generated::incremental_alter_configs_request as step;
use kacrab_protocol::generated::{
    AlterConfigsRequestData, AlterConfigsResponseData, IncrementalAlterConfigsRequestData,
    IncrementalAlterConfigsResponseData, alter_configs_response,
    incremental_alter_configs_response,
};

use super::{BROKER, GROUP, Refused, TOPIC, check_broker, each, unsupported};
use crate::api::Context;
use crate::api::changes::PendingChange;
use crate::error::ErrorCode;
use crate::meta::{AlterOp, AlterOpKind, check_topic_name};
use crate::node::Node;
use crate::wire::{Request, Response};

/// The records that a resource's change comes to.
type Planned = Result<Vec<Bytes>, Refused>;

/// Code and message of a resource, if what was planned ends like that.
fn told(planned: &Planned, end: ErrorCode) -> (i16, Option<KafkaString>) {
    match planned {
        Ok(_) => (end.code(), None),
        Err(refused) => (refused.code.code(), Some(KafkaString::from(refused.message.clone()))),
    }
}

pub(crate) fn incremental_alter(
    node: &mut Node,
    context: Context,
    request: IncrementalAlterConfigsRequestData,
) {
    if node.is_changing() {
        return node.after_the_change(context, Request::IncrementalAlterConfigs(request));
    }
    let planned = each(
        &request.resources,
        |one| (one.resource_type, &one.resource_name),
        |one| plan_steps(node, one),
    );
    let answer = |end: ErrorCode| {
        let responses = request.resources.iter().zip(&planned).map(|(one, planned)| {
            let (error_code, error_message) = told(planned, end);
            incremental_alter_configs_response::AlterConfigsResourceResponse {
                error_code,
                error_message,
                resource_type: one.resource_type,
                resource_name: one.resource_name.clone(),
                ..Default::default()
            }
        });
        let responses = responses.collect();
        let data = IncrementalAlterConfigsResponseData { responses, ..Default::default() };
        Response::IncrementalAlterConfigs(data)
    };
    append(node, &context, request.validate_only, &planned, answer);
}

pub(crate) fn alter(node: &mut Node, context: Context, request: AlterConfigsRequestData) {
    if node.is_changing() {
        return node.after_the_change(context, Request::AlterConfigs(request));
    }
    let planned = each(
        &request.resources,
        |one| (one.resource_type, &one.resource_name),
        |one| plan_full(node, one),
    );
    let answer = |end: ErrorCode| {
        let responses = request.resources.iter().zip(&planned).map(|(one, planned)| {
            let (error_code, error_message) = told(planned, end);
            alter_configs_response::AlterConfigsResourceResponse {
                error_code,
                error_message,
                resource_type: one.resource_type,
                resource_name: one.resource_name.clone(),
                ..Default::default()
            }
        });
        let responses = responses.collect();
        Response::AlterConfigs(AlterConfigsResponseData { responses, ..Default::default() })
    };
    append(node, &context, request.validate_only, &planned, answer);
}

fn append(
    node: &mut Node,
    context: &Context,
    validate_only: bool,
    planned: &[Planned],
    answer: impl Fn(ErrorCode) -> Response,
) {
    let records = planned.iter().flatten().flatten().cloned();
    let records = if validate_only { Vec::new() } else { records.collect() };
    let pending = PendingChange {
        persisted: answer(ErrorCode::None),
        failed: answer(ErrorCode::KafkaStorageError),
    };
    node.append_change(context, records, pending);
}

/// The names that stand more than once among a resource's settings, and those without a value.
fn check_names<'a>(entries: impl Iterator<Item = (&'a KafkaString, bool)>) -> Result<(), Refused> {
    let (mut seen, mut nulls, mut doubled) = (BTreeSet::new(), Vec::new(), false);
    for (name, has_value) in entries {
        doubled |= !seen.insert(name.as_str());
        if !has_value {
            nulls.push(name.as_str());
        }
    }
    if !nulls.is_empty() {
        return Err(Refused::request(alloc::format!(
            "Null value not supported for : {}",
            nulls.join(",")
        )));
    }
    if doubled {
        return Err(Refused::request("Error due to duplicate config keys"));
    }
    Ok(())
}

/// Checks that a topic may be named so before it is looked for.
fn check_topic(name: &str) -> Result<(), Refused> {
    if name.is_empty() {
        return Err(Refused::request("Default topic resources are not allowed."));
    }
    Ok(check_topic_name(name)?)
}

fn check_group(name: &str) -> Result<(), Refused> {
    if name.is_empty() {
        return Err(Refused::request("Default group resources are not allowed."));
    }
    Ok(())
}

fn plan_steps(node: &Node, resource: &step::AlterConfigsResource) -> Result<Vec<Bytes>, Refused> {
    check_names(resource.configs.iter().map(|one| {
        // DELETE is the only one that needs none.
        (&one.name, one.value.is_some() || one.config_operation == 1)
    }))?;
    let ops: Vec<AlterOp> = resource.configs.iter().map(op).collect::<Result<_, _>>()?;
    let name = resource.resource_name.as_str();
    match resource.resource_type {
        TOPIC => {
            check_topic(name)?;
            Ok(node.meta.plan_alter_topic(name, &ops)?)
        }
        BROKER => {
            check_broker(node, name)?;
            let (records, after) = node.meta.plan_alter_broker(name, &ops)?;
            node.check_dynamic(&after).map_err(Refused::request)?;
            Ok(records)
        }
        GROUP => {
            check_group(name)?;
            Ok(node.meta.plan_alter_group(&node.config, name, &ops)?)
        }
        other => Err(unsupported(other)),
    }
}

fn op(config: &step::AlterableConfig) -> Result<AlterOp, Refused> {
    let kind = match config.config_operation {
        0 => AlterOpKind::Set,
        1 => AlterOpKind::Delete,
        2 => AlterOpKind::Append,
        3 => AlterOpKind::Subtract,
        other => {
            let message = alloc::format!("Unknown operation type id {other}");
            return Err(Refused::request(message));
        }
    };
    let value = config.value.as_ref().map(|value| String::from(value.as_str()));
    let name = String::from(config.name.as_str());
    Ok(AlterOp { name, kind, value: value.unwrap_or_default() })
}

fn plan_full(node: &Node, resource: &full::AlterConfigsResource) -> Result<Vec<Bytes>, Refused> {
    check_names(resource.configs.iter().map(|one| (&one.name, one.value.is_some())))?;
    let text = |text: &KafkaString| String::from(text.as_str());
    let values: Vec<(String, String)> = resource
        .configs
        .iter()
        .map(|one| (text(&one.name), one.value.as_ref().map(text).unwrap_or_default()))
        .collect();
    let name = resource.resource_name.as_str();
    match resource.resource_type {
        TOPIC => {
            check_topic(name)?;
            Ok(node.meta.plan_replace_topic(name, &values)?)
        }
        BROKER => {
            check_broker(node, name)?;
            let (records, after) = node.meta.plan_replace_broker(name, &values);
            node.check_dynamic(&after).map_err(Refused::request)?;
            Ok(records)
        }
        GROUP => {
            check_group(name)?;
            Ok(node.meta.plan_replace_group(&node.config, name, &values)?)
        }
        other => Err(unsupported(other)),
    }
}
