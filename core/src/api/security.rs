//! ACLs, quotas and SCRAM credentials, as a broker without an authorizer and without any of them
//! answers.

use alloc::collections::BTreeSet;
use alloc::vec::Vec;

use kacrab_protocol::KafkaString;
use kacrab_protocol::generated::create_acls_response::AclCreationResult;
use kacrab_protocol::generated::delete_acls_response::DeleteAclsFilterResult;
use kacrab_protocol::generated::describe_user_scram_credentials_response::DescribeUserScramCredentialsResult;
use kacrab_protocol::generated::{
    CreateAclsRequestData, CreateAclsResponseData, DeleteAclsRequestData, DeleteAclsResponseData,
    DescribeAclsResponseData, DescribeClientQuotasResponseData,
    DescribeUserScramCredentialsRequestData, DescribeUserScramCredentialsResponseData,
};

use super::{Context, repeated};
use crate::error::ErrorCode;
use crate::node::Node;
use crate::wire::Response;

const DISABLED: ErrorCode = ErrorCode::SecurityDisabled;

pub(crate) fn describe_acls(node: &mut Node, context: &Context) {
    let data = DescribeAclsResponseData {
        error_code: DISABLED.code(),
        error_message: Some(KafkaString::from_static("No Authorizer is configured on the broker")),
        ..Default::default()
    };
    node.respond(context.id, Response::DescribeAcls(data));
}

fn no_authorizer() -> Option<KafkaString> {
    Some(KafkaString::from_static("No Authorizer is configured."))
}

pub(crate) fn create_acls(node: &mut Node, context: &Context, request: &CreateAclsRequestData) {
    let refused = || AclCreationResult {
        error_code: DISABLED.code(),
        error_message: no_authorizer(),
        ..Default::default()
    };
    let results = request.creations.iter().map(|_| refused()).collect();
    let data = CreateAclsResponseData { results, ..Default::default() };
    node.respond(context.id, Response::CreateAcls(data));
}

pub(crate) fn delete_acls(node: &mut Node, context: &Context, request: &DeleteAclsRequestData) {
    let refused = || DeleteAclsFilterResult {
        error_code: DISABLED.code(),
        error_message: no_authorizer(),
        ..Default::default()
    };
    let filter_results = request.filters.iter().map(|_| refused()).collect();
    let data = DeleteAclsResponseData { filter_results, ..Default::default() };
    node.respond(context.id, Response::DeleteAcls(data));
}

pub(crate) fn describe_quotas(node: &mut Node, context: &Context) {
    let data = DescribeClientQuotasResponseData { entries: Some(Vec::new()), ..Default::default() };
    node.respond(context.id, Response::DescribeClientQuotas(data));
}

pub(crate) fn describe_scram(
    node: &mut Node,
    context: &Context,
    request: &DescribeUserScramCredentialsRequestData,
) {
    let names = || request.users.iter().flatten().map(|user| user.name.as_str());
    let (once, twice) = (names().collect::<BTreeSet<_>>(), repeated(names()));
    let results = once
        .iter()
        .map(|name| {
            let (code, why) = if twice.contains(name) {
                let why = "Cannot describe SCRAM credentials for the same user twice in a single \
                           request";
                (ErrorCode::DuplicateResource, why)
            } else {
                let why = "Attempt to describe a user credential that does not exist";
                (ErrorCode::ResourceNotFound, why)
            };
            DescribeUserScramCredentialsResult {
                user: KafkaString::from(alloc::string::String::from(*name)),
                error_code: code.code(),
                error_message: Some(KafkaString::from(alloc::format!("{why}: {name}"))),
                ..Default::default()
            }
        })
        .collect();
    let data = DescribeUserScramCredentialsResponseData { results, ..Default::default() };
    node.respond(context.id, Response::DescribeUserScramCredentials(data));
}
