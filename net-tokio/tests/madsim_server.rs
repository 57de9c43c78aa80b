//! The whole adapter in a simulated network: transactional clients through clogged links, kills,
//! losses of power and restarts, under many seeds.
//!
//! `RUSTFLAGS="--cfg madsim" CARGO_TARGET_DIR=target/sim MADSIM_TEST_SEED=1 MADSIM_TEST_NUM=20 \
//!  cargo test -p verdict-net-tokio --test madsim_server`. A failure prints its seed. The simulator's
//! oracles have the word, as in `verdict torture` over real processes.
#![cfg(madsim)]

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use madsim::net::NetSim;
use madsim::rand::{Rng, thread_rng};
use madsim::runtime::{Handle, NodeHandle};
use tokio::sync::watch;
use verdict_net_tokio::files::{MemoryDisk, PowerLoss};
use verdict_net_tokio::recorder::Recorder;
use verdict_net_tokio::serve::{Env, Phase, serve};
use verdict_net_tokio::settings::Settings;
use verdict_net_tokio::workload::{self, Target};

const BROKER: &str = "10.0.0.1:9092";
/// A small journal that is recycled many times in a run, and few internal partitions.
const SETTINGS: [(&str, &str); 4] = [
    ("verdict.journal.bytes", "1048576"),
    ("verdict.checkpoint.interval.ms", "2000"),
    ("transaction.state.log.num.partitions", "3"),
    ("offsets.topic.num.partitions", "2"),
];
const PRODUCERS: u8 = 4;
const PARTITIONS: u16 = 3;
/// How many things go wrong in a run.
const FAULTS: u32 = 12;

/// A broker node that boots whenever it is restarted, on the disk it had.
fn broker(disk: &MemoryDisk) -> NodeHandle {
    let address: SocketAddr = BROKER.parse().expect("an address");
    let disk = disk.clone();
    Handle::current()
        .create_node()
        .name("broker")
        .ip(address.ip())
        .init(move || {
            let files = disk.boot(|| thread_rng().gen_range(5..2_000));
            async move {
                // The sender lives as long as the server does: nobody stops it cleanly.
                let (_phase, phases) = watch::channel(Phase::Run);
                let mut settings = Settings { listen: BROKER.to_owned(), ..Settings::default() };
                for (name, value) in SETTINGS {
                    settings.set(name, value).expect("a known setting");
                }
                let env = Env {
                    files: Arc::new(files),
                    entropy: thread_rng().r#gen(),
                    phase: phases,
                    on_ready: Box::new(|_| {}),
                };
                serve(settings, env).await.expect("the broker serves");
            }
        })
        .build()
}

/// One thing that goes wrong, and is over when this returns.
async fn fault(broker: &NodeHandle, clients: &[NodeHandle], disk: &MemoryDisk) {
    let net = NetSim::current();
    let pause = |most| Duration::from_millis(thread_rng().gen_range(1..most));
    let victim = &clients[thread_rng().gen_range(0..clients.len())];
    match thread_rng().gen_range(0..4_u32) {
        0 => {
            let loss = if thread_rng().gen_bool(0.5) {
                PowerLoss::LosesUnsynced
            } else {
                PowerLoss::KeepsUnsynced
            };
            Handle::current().kill(broker.id());
            disk.crash(loss);
            tokio::time::sleep(pause(500)).await;
            Handle::current().restart(broker.id());
        }
        1 => {
            // Requests are lost, answers get through; or the other way round.
            let (source, target) = if thread_rng().gen_bool(0.5) {
                (victim.id(), broker.id())
            } else {
                (broker.id(), victim.id())
            };
            net.clog_link(source, target);
            tokio::time::sleep(pause(15_000)).await;
            net.unclog_link(source, target);
        }
        2 => {
            net.clog_node(broker.id());
            tokio::time::sleep(pause(3_000)).await;
            net.unclog_node(broker.id());
        }
        _ => {
            Handle::current().pause(broker.id());
            tokio::time::sleep(pause(3_000)).await;
            Handle::current().resume(broker.id());
        }
    }
}

#[madsim::test]
async fn commits_hold_through_cuts_kills_and_losses_of_power() {
    let disk = MemoryDisk::new();
    let broker = broker(&disk);
    let target =
        Target { address: BROKER.to_owned(), topic: "sim".to_owned(), partitions: PARTITIONS };
    let (stop, stopped) = watch::channel(false);
    let clients: Vec<NodeHandle> = (0..PRODUCERS)
        .map(|index| {
            let ip = IpAddr::from([10, 0, 1, index + 1]);
            Handle::current().create_node().name(format!("client{index}")).ip(ip).build()
        })
        .collect();
    let setup = clients[0].spawn({
        let target = target.clone();
        async move { workload::prepare(&target).await }
    });
    setup.await.expect("no panic").expect("a topic");
    let recorder = Recorder::default();
    let reader =
        clients[0].spawn(workload::read(target.clone(), recorder.clone(), stopped.clone()));
    let producers: Vec<_> = clients
        .iter()
        .zip(1..)
        .map(|(node, client)| {
            let (target, recorder) = (target.clone(), recorder.clone());
            node.spawn(workload::produce(target, recorder, client, stopped.clone()))
        })
        .collect();
    for _ in 0..FAULTS {
        tokio::time::sleep(Duration::from_millis(thread_rng().gen_range(1..2_000))).await;
        fault(&broker, &clients, &disk).await;
    }
    tokio::time::sleep(Duration::from_secs(5)).await;
    stop.send_replace(true);
    reader.await.expect("no panic");
    for producer in producers {
        producer.await.expect("no panic");
    }
    let judge = async move { workload::judge(&target, &recorder, PRODUCERS.into()).await };
    let judged = clients[0].spawn(judge).await.expect("no panic");
    let summary = judged.unwrap_or_else(|error| panic!("{error}"));
    assert!(summary.committed > 0, "the load got nowhere: {summary}");
}
