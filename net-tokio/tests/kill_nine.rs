//! A broker process is killed with SIGKILL under transactional load: every acknowledged commit is
//! whole afterwards, nothing is there twice, nothing aborted is visible.
#![cfg(not(madsim))]

use verdict_net_tokio::torture::{self, Torture};

async fn survives(rounds: u32, life_ms: u64) {
    let torture = Torture {
        program: env!("CARGO_BIN_EXE_verdict").into(),
        rounds,
        producers: 4,
        life_ms,
        settings: Vec::new(),
    };
    let summary = torture::run(&torture).await.expect("no rule broken");
    assert!(summary.committed > 0, "the load got nowhere: {summary}");
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_commits_survive_a_few_kills() {
    survives(5, 1_000).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "half a minute; `cargo test --test kill_nine -- --ignored`, or `verdict torture`"]
async fn acknowledged_commits_survive_fifty_kills() {
    survives(50, 800).await;
}
