//! Topics that are created again while transactions have partitions of the old one.

use super::*;
use Decision::Abort;

impl World {
    fn recreate(&mut self) {
        self.txn.forget_partitions(&"t".into());
        self.drain();
    }

    /// The partitions of the transaction, as memory and the log have them.
    fn partitions(&self) -> (Vec<TopicPartition>, Vec<TopicPartition>) {
        let of = |all: BTreeMap<Arc<str>, Metadata>| {
            all.get(ID).map_or(Vec::new(), |metadata| metadata.partitions.iter().cloned().collect())
        };
        (of(self.in_force()), of(self.replayed()))
    }
}

fn with_an_open_transaction() -> (World, (i64, i16)) {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    world.add(producer, &[0]).expect("added");
    (world, producer)
}

#[test]
fn a_partition_that_is_being_added_while_its_topic_is_created_again_leaves_the_transaction() {
    let mut world = World::v2();
    let producer = world.init().expect("a producer");
    let to = world.send_add(producer, &[0, 1], 2);
    world.recreate();
    assert_eq!(world.appends.len(), 1, "the record with them is on its way");
    world.settle();
    assert_eq!(world.reply_to(to), Some(TxnReply::AddPartitions(Ok(()))));
    assert_eq!(world.partitions(), (vec![], vec![]));
    assert_eq!(world.end(producer, Abort), Ok((producer.0, 1)));
    assert_eq!(world.written, [], "the new topic gets no marker of a transaction of the old one");
}

#[test]
fn partitions_of_the_old_topic_leave_the_transaction_when_the_pending_record_fails() {
    let (mut world, producer) = with_an_open_transaction();
    world.send_add(producer, &[1], 2);
    world.recreate();
    world.fail_append(LogAppendError::NotAvailable);
    world.settle();
    assert_eq!(world.partitions(), (vec![], vec![]));
    assert_eq!(world.state(), TxnState::Ongoing);
}

#[test]
fn a_decision_that_is_on_its_way_while_the_topic_is_created_again_sends_it_no_marker() {
    let (mut world, producer) = with_an_open_transaction();
    let to = world.send_end(producer, Abort, true);
    world.recreate();
    world.settle();
    assert_eq!(world.end_reply(to), Some(Ok((producer.0, 1))));
    assert_eq!((world.state(), world.written.len()), (TxnState::CompleteAbort, 0));
}

#[test]
fn a_record_without_the_partitions_of_the_old_topic_is_tried_until_the_log_has_it() {
    let (mut world, _) = with_an_open_transaction();
    world.recreate();
    for _ in 0..3 {
        world.fail_append(LogAppendError::NotAvailable);
        assert_eq!(world.partitions(), (vec![], vec![topic(0)]));
        assert!(world.appends.is_empty(), "not before the back-off");
        world.pass(1_000);
        assert_eq!(world.appends.len(), 1);
    }
    world.settle();
    assert_eq!(world.partitions(), (vec![], vec![]));
    world.crash();
    world.pass(60_001);
    world.pass(500);
    world.settle();
    assert_eq!((world.state(), world.written.len()), (TxnState::CompleteAbort, 0));
}

#[test]
fn what_is_written_once_more_waits_for_the_transition_that_is_pending() {
    let (mut world, producer) = with_an_open_transaction();
    world.recreate();
    world.fail_append(LogAppendError::NotAvailable);
    world.send_add(producer, &[2], 2);
    world.pass(1_000);
    assert_eq!(world.appends.len(), 1, "only the partition that is added");
    world.persist();
    world.pass(1_000);
    assert_eq!(world.appends.len(), 1, "what is in force, written once more");
    world.settle();
    assert_eq!(world.partitions(), (vec![topic(2)], vec![topic(2)]));
}

#[test]
fn a_producer_id_that_was_given_out_with_the_decision_outlives_a_record_written_once_more_at_level_0()
 {
    let (mut world, (pid, _)) = with_an_open_transaction();
    world.preset(|metadata| metadata.producer_epoch = 32_766);
    let to = world.send_end((pid, 32_766), Abort, true);
    world.persist();
    assert_eq!(world.end_reply(to), Some(Ok((pid + 1, 0))));
    world.txn.set_transaction_version(0);
    world.recreate();
    world.persist();
    world.crash();
    world.settle();
    assert_eq!((world.state(), world.producer()), (TxnState::CompleteAbort, (pid + 1, 0)));
}
