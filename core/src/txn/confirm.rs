//! What a coordinator promises from memory alone: that a partition is part of a transaction, that
//! a transaction has ended as asked.
//!
//! One of several nodes may have been replaced and not know. What it appends is refused then; an
//! answer that appends nothing is not, and with EndTxn v0 to v4 the producer's next transaction
//! looks like the one in its memory. So it took the offsets of a transaction that the coordinator
//! in office never heard of, and no marker ended them (verdict-sim seed 95788). A member therefore
//! writes what is in force once more, and answers when that is persisted.

use alloc::sync::Arc;
use alloc::vec;

use super::append::Appending;
use super::shard::Pending;
use super::{TransactionalId, TxnCoordinator, TxnError, TxnReply, TxnReplyTo, records};
use crate::mark;

impl TxnCoordinator {
    /// From here on another node may lead a partition without this one having heard of it.
    pub fn may_be_replaced(&mut self) {
        self.replaceable = true;
    }

    /// Answers what memory says of a known id.
    pub(super) fn answer_known(&mut self, to: TxnReplyTo, id: &str, reply: TxnReply) {
        if !self.replaceable {
            return self.reply(to, reply);
        }
        let (partition, entry) = match self.known(id) {
            Ok(known) => known,
            Err(error) => return self.reply(to, reply.refused(error)),
        };
        // A newer record is on its way, and what is in force must not come behind it.
        if matches!(entry.pending, Some(Pending::Appending { .. } | Pending::Expiring { .. })) {
            return self.reply(to, reply.refused(TxnError::ConcurrentTransactions));
        }
        mark!(TxnAnswerConfirmed);
        let value = records::encode_value(&entry.metadata, self.config.transaction_version);
        let id: TransactionalId = Arc::from(id);
        let record = (records::encode_key(&id), Some(value));
        self.emit_append(partition, vec![record], Appending::Confirm { to, reply });
    }
}

impl TxnReply {
    /// The same answer, with an error in place of what was promised.
    pub(super) fn refused(self, error: TxnError) -> Self {
        match self {
            Self::InitProducerId(_) => Self::InitProducerId(Err(error)),
            Self::AddPartitions(_) => Self::AddPartitions(Err(error)),
            Self::EndTxn(_) => Self::EndTxn(Err(error)),
            Self::Verify(results) => {
                let refused = results.into_iter().map(|(to, result)| (to, result.and(Err(error))));
                Self::Verify(refused.collect())
            }
        }
    }
}
