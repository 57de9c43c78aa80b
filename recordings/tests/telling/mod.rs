//! A recording told as a history: what was asked of transactions, and what was answered.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;

use kacrab_protocol::generated::AddPartitionsToTxnRequestData;
use verdict_core::wire::{ProduceRequest, Request};
use verdict_recordings::format::{Act, Ask, Line};
use verdict_recordings::names::Names;
use verdict_recordings::{Recording, verbs};
use verdict_sim::history::{ClientId, Event, History, TxnAsk};

/// Every step takes this long.
const STEP_US: u64 = 1_000;
/// How long a broker is away when it starts again.
const RESTART_US: u64 = 15_000_000;
/// More producers and members than any recording has.
const NAMED: i64 = 8_000;
/// CONCURRENT_TRANSACTIONS, as the broker says it when it is busy.
const BUSY: i16 = 51;

/// Errors of requests that are refused before anybody looks at the transactional id: they say
/// nothing about it, and are not told. TOPIC_AUTHORIZATION_FAILED, INVALID_REQUEST and
/// INVALID_TRANSACTION_TIMEOUT.
const NOT_ABOUT_THE_ID: [i16; 3] = [29, 42, 50];
/// INVALID_PRODUCER_EPOCH, as requests of old say it, and PRODUCER_FENCED as others do.
const FENCED: [i16; 2] = [47, 90];

/// Names for whoever a recording shows.
static NAMES: LazyLock<Names> = LazyLock::new(|| {
    let mut names = Names::default();
    (1..=NAMED).for_each(|id| drop(names.producer(id)));
    (1..=20).for_each(|member| drop(names.member(&format!("member-{member}"))));
    names
});

/// Whose answers are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answers {
    /// Those that were recorded.
    Kafkas,
    /// With Verdict's better ones.
    Verdicts,
}

/// One request about a transaction, as the model sees it.
#[derive(Clone)]
struct Asked {
    id: u32,
    pid: i64,
    epoch: i16,
    ask: TxnAsk,
}

/// What was asked `later`: its requests with their numbers.
type Open = (Vec<(u64, Asked)>, bool);

/// The history so far.
#[derive(Clone)]
pub(crate) struct Telling {
    answers: Answers,
    pub(crate) history: History,
    names: Names,
    at_us: u64,
    next: u64,
    numbers: BTreeMap<String, u32>,
    clients: BTreeMap<String, ClientId>,
    open: BTreeMap<String, VecDeque<Open>>,
    /// Partitions that were written to beside all transactions: what they know of a producer is
    /// not what its coordinator does.
    beside: BTreeSet<String>,
}

/// The first line where Verdict's answer is a better one.
pub(crate) fn first_better_line(recording: &Recording) -> Option<usize> {
    let is_better = |line: &Line| matches!(line, Line::Ask(ask) if ask.ours.is_some());
    recording.lines.iter().position(is_better).map(|at| at + 1)
}

/// The number of an error; `None` when it is no error's name.
fn error_code(name: &str) -> Option<i16> {
    (-1..=200).find(|code| verbs::code(*code) == name)
}

/// The errors of an answer, in their order.
fn codes(answer: &str) -> Vec<i16> {
    let is_name = |word: &&str| word.chars().all(|c| c.is_ascii_uppercase() || "_0123".contains(c));
    answer.split([' ', ',']).filter(is_name).filter_map(error_code).collect()
}

impl Telling {
    pub(crate) fn new(answers: Answers) -> Self {
        let mut history = History::default();
        history.push(0, 0, Event::Level { level: 2 });
        let (at_us, next) = (0, 0);
        let (numbers, clients, open, beside) = Default::default();
        let names = NAMES.clone();
        Self { answers, history, names, at_us, next, numbers, clients, open, beside }
    }

    /// How many requests were told.
    pub(crate) fn asked(&self) -> usize {
        let asked = |event: &Event| matches!(event, Event::TxnAsked { .. });
        self.history.entries.iter().filter(|entry| asked(&entry.event)).count()
    }

    /// Tells a line. `busy_before` says that the broker was busy the first time.
    pub(crate) fn line(&mut self, line: &Line, busy_before: bool) {
        self.at_us += STEP_US;
        match line {
            Line::Text(_) | Line::Set(..) => {}
            Line::Act(Act::Classic) => self.names.classic = true,
            Line::Act(Act::Topic(_)) => {}
            Line::Act(Act::Wait(ms)) => self.at_us += ms * 1_000,
            Line::Act(Act::Restart(_) | Act::Crash(_)) => {
                self.history.push(self.at_us, 0, Event::Crashed);
                self.at_us += RESTART_US;
            }
            Line::Ask(ask) => self.ask(ask, busy_before),
        }
    }

    fn ask(&mut self, ask: &Ask, busy_before: bool) {
        let answer = match self.answers {
            Answers::Kafkas => ask.kafka.as_str(),
            Answers::Verdicts => ask.expected(),
        };
        if ask.verb == verbs::ANSWER {
            let open = self.open.get_mut(&ask.conn).and_then(VecDeque::pop_front);
            let (asked, tells) = open.expect("something was asked");
            return self.answered(&ask.conn, &asked, answer, tells);
        }
        let flag = |flag: &str| ask.words.iter().any(|word| word == flag);
        let is_step =
            |word: &&str| !["once", "later"].contains(word) && !word.starts_with("times=");
        let words: Vec<&str> = ask.words.iter().map(String::as_str).filter(is_step).collect();
        let call = verbs::build(&ask.verb, words, &mut self.names).expect("a step that was asked");
        if let Request::UpdateFeatures(update) = &call.request {
            for level in update.feature_updates.iter().map(|update| update.max_version_level) {
                self.history.push(self.at_us, 0, Event::Level { level });
            }
        }
        self.note_what_is_beside(&call.request);
        let codes = codes(answer);
        if codes.iter().any(|code| NOT_ABOUT_THE_ID.contains(code)) {
            return;
        }
        let refused = codes.iter().any(|code| *code != 0);
        let (mut all, tells) = self.about_transactions(call.version, &call.request);
        if refused {
            let beside: Vec<u16> = self.beside.clone().iter().map(|it| self.small(it)).collect();
            all.retain(|asked| match asked.ask {
                TxnAsk::Produce { part: Some(part), .. } => !beside.contains(&part),
                _ => true,
            });
        }
        if busy_before && !flag("once") && !flag("later") {
            let asked = self.send(&ask.conn, &all);
            for (request, _) in asked {
                let (code, pid, epoch, of_old) = (BUSY, -1, -1, false);
                self.push(&ask.conn, Event::TxnAnswered { request, code, pid, epoch, of_old });
            }
        }
        let asked = self.send(&ask.conn, &all);
        if flag("later") {
            self.open.entry(ask.conn.clone()).or_default().push_back((asked, tells));
            return;
        }
        match answer.split_once(" … ") {
            Some((first, last)) => {
                self.answered(&ask.conn, &asked, first, tells);
                self.many_more(&asked, last);
            }
            None => self.answered(&ask.conn, &asked, answer, tells),
        }
    }

    /// The same was asked many times, and each raised the epoch by one.
    fn many_more(&mut self, asked: &[(u64, Asked)], last: &str) {
        let writer = last.split_whitespace().find_map(|word| self.names.writer(word).ok());
        if let ([(_, asked)], Some((pid, epoch))) = (asked, writer) {
            self.history.push(self.at_us, 0, Event::EpochMoved { id: asked.id, pid, epoch });
        }
    }

    fn number(&mut self, name: &str) -> u32 {
        let next = u32::try_from(self.numbers.len()).expect("few names");
        *self.numbers.entry(name.to_owned()).or_insert(next)
    }

    /// The number of a partition or a group.
    fn small(&mut self, name: &str) -> u16 {
        u16::try_from(self.number(name)).expect("few names")
    }

    /// What a request asks of transactions, and whether its answer tells a producer.
    fn about_transactions(&mut self, version: i16, request: &Request) -> (Vec<Asked>, bool) {
        let (id, pid, epoch, all) = match request {
            Request::InitProducerId(data) => {
                let ask = TxnAsk::Init { timeout_ms: data.transaction_timeout_ms };
                let id = data.transactional_id.as_ref().map(ToString::to_string);
                (id, data.producer_id, data.producer_epoch, vec![ask])
            }
            Request::AddPartitionsToTxn(data) if version <= 3 => {
                let topics = data.v3_and_below_topics.iter();
                let places = topics.flat_map(|topic| {
                    topic.partitions.iter().map(|index| format!("{}-{index}", topic.name))
                });
                let parts = places.map(|place| self.small(&place)).collect();
                let ask = TxnAsk::AddPartitions { parts };
                let id = data.v3_and_below_transactional_id.to_string();
                let (pid, epoch) =
                    (data.v3_and_below_producer_id, data.v3_and_below_producer_epoch);
                (Some(id), pid, epoch, vec![ask])
            }
            Request::AddPartitionsToTxn(data) => return (self.verified(data), false),
            Request::AddOffsetsToTxn(data) => {
                let ask = TxnAsk::AddOffsets { group: self.small(data.group_id.as_str()) };
                let id = data.transactional_id.to_string();
                (Some(id), data.producer_id, data.producer_epoch, vec![ask])
            }
            Request::EndTxn(data) => {
                let ask = TxnAsk::End { commit: data.committed, bumps: version >= 5 };
                let id = data.transactional_id.to_string();
                (Some(id), data.producer_id, data.producer_epoch, vec![ask])
            }
            Request::TxnOffsetCommit(data) => {
                let group = self.small(data.group_id.as_str());
                let ask = TxnAsk::CommitOffsets { group, adds: version >= 5 };
                let id = data.transactional_id.to_string();
                (Some(id), data.producer_id, data.producer_epoch, vec![ask])
            }
            Request::Produce(data) => return (self.produced(version, data), false),
            _ => (None, -1, -1, Vec::new()),
        };
        let Some(id) = id else { return (Vec::new(), false) };
        let id = self.number(&id);
        let tells =
            matches!(all.first(), Some(TxnAsk::Init { .. } | TxnAsk::End { bumps: true, .. }));
        (all.into_iter().map(|ask| Asked { id, pid, epoch, ask }).collect(), tells)
    }

    /// A leader asks as a batch makes it ask, for one partition after the other.
    fn verified(&mut self, data: &AddPartitionsToTxnRequestData) -> Vec<Asked> {
        let mut all = Vec::new();
        for transaction in &data.transactions {
            let id = self.number(transaction.transactional_id.as_str());
            let (pid, epoch) = (transaction.producer_id, transaction.producer_epoch);
            for topic in &transaction.topics {
                for index in &topic.partitions {
                    let part = Some(self.small(&format!("{}-{index}", topic.name)));
                    let ask = TxnAsk::Produce { part, adds: !transaction.verify_only };
                    all.push(Asked { id, pid, epoch, ask });
                }
            }
        }
        all
    }

    /// Markers that nobody's coordinator sent, and batches outside a transaction.
    fn note_what_is_beside(&mut self, request: &Request) {
        match request {
            Request::WriteTxnMarkers(data) => {
                for topic in data.markers.iter().flat_map(|marker| &marker.topics) {
                    let places = topic.partition_indexes.iter();
                    self.beside.extend(places.map(|index| format!("{}-{index}", topic.name)));
                }
            }
            Request::Produce(data) => {
                for topic in &data.topics {
                    let outside = topic.partitions.iter().filter(|(_, batch)| {
                        let header = batch.header();
                        header.is_some_and(|it| it.has_producer() && !it.is_transactional())
                    });
                    let places = outside.map(|(index, _)| format!("{}-{index}", topic.name));
                    self.beside.extend(places);
                }
            }
            _ => {}
        }
    }

    /// One for each partition that a batch of the transaction goes to.
    fn produced(&mut self, version: i16, data: &ProduceRequest) -> Vec<Asked> {
        let Some(id) = data.transactional_id.as_ref().map(ToString::to_string) else {
            return Vec::new();
        };
        let id = self.number(&id);
        let mut all = Vec::new();
        for topic in &data.topics {
            for (index, batch) in &topic.partitions {
                let Some(header) = batch.header().filter(|header| header.is_transactional()) else {
                    continue;
                };
                let part = Some(self.small(&format!("{}-{index}", topic.name)));
                let ask = TxnAsk::Produce { part, adds: version >= 12 };
                let (pid, epoch) = (header.producer_id, header.producer_epoch);
                all.push(Asked { id, pid, epoch, ask });
            }
        }
        all
    }

    fn push(&mut self, conn: &str, event: Event) {
        let next = ClientId::try_from(self.clients.len() + 1).expect("few connections");
        let client = *self.clients.entry(conn.to_owned()).or_insert(next);
        self.at_us += STEP_US;
        self.history.push(self.at_us, client, event);
    }

    fn send(&mut self, conn: &str, all: &[Asked]) -> Vec<(u64, Asked)> {
        let mut sent = Vec::new();
        for asked in all {
            self.next += 1;
            let (request, Asked { id, pid, epoch, ask }) = (self.next, asked.clone());
            self.push(conn, Event::TxnAsked { request, conn: 1, id, pid, epoch, ask });
            sent.push((request, asked.clone()));
        }
        sent
    }

    /// The answer, to each of what was asked. `tells` says that it names a producer.
    fn answered(&mut self, conn: &str, asked: &[(u64, Asked)], answer: &str, tells: bool) {
        let codes = codes(answer);
        let told = answer.split_whitespace().find_map(|word| self.names.writer(word).ok());
        for (at, (request, asked)) in asked.iter().enumerate() {
            let each = matches!(asked.ask, TxnAsk::Produce { .. });
            let is_data = each || matches!(asked.ask, TxnAsk::CommitOffsets { .. });
            let code = match (each, is_data) {
                (true, _) => codes.get(at).copied(),
                // One that was staged says that the group is in the transaction.
                (_, true) => codes.iter().min_by_key(|code| **code != 0).copied(),
                _ => codes.iter().max_by_key(|code| (**code != 0, **code != 55)).copied(),
            };
            let (pid, epoch) = told.filter(|_| tells).unwrap_or((-1, -1));
            let (request, mut code) = (*request, code.unwrap_or(0));
            if code == FENCED[0] && !is_data {
                code = FENCED[1];
            }
            self.push(conn, Event::TxnAnswered { request, code, pid, epoch, of_old: false });
        }
    }
}
