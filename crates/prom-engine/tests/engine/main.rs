//! What the bus promises, over the memory store. Time is tokio's, which a test can hold still.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on stops")]

mod support;

mod ack;
mod caps;
mod change_group;
mod cursor;
mod dead_letter;
mod delete_topic;
mod expect;
mod faults;
mod filter;
mod give_back;
mod group;
mod maintain;
mod meters;
mod order;
mod others;
mod ownership;
mod park;
mod partitioned;
mod publish;
mod queue;
mod redeliver;
mod release;
mod rest;
mod retain;
mod run;
mod schema;
mod shutdown;
mod stress;
mod subscribe;
mod supervise;
mod tail;
mod together;
mod topic;
mod unit_of_work;
