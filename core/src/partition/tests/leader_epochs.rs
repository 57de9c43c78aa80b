//! Which leader took a record.

use super::*;

#[test]
fn the_leader_epoch_of_an_offset_is_that_of_the_leader_who_took_its_record() {
    let mut log = Log::new();
    log.plain(2);
    log.persist();
    log.partition.lead(3);
    log.plain(1);
    log.persist();
    assert_eq!([0, 1, 2].map(|offset| log.partition.epoch_of(offset)), [0, 0, 3]);
    log.partition.delete_records_to(2);
    assert_eq!([1, 2].map(|offset| log.partition.epoch_of(offset)), [-1, 3], "0 is forgotten");
}
