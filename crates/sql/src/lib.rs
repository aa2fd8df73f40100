//! What an SQL text says: its tokens, its shape, its effect, its parameters.
//!
//! In: a text, and the dialect of the server that has performed it or is to perform it. Out: [`tokens`] with their places in the text, the
//! [`fingerprint`] without values, the [`Judgement`] of what it does, the text [`with_values`] in place of its parameters, or with an id
//! that an INSERT made ([`with_inserted`]), how many rows it inserts ([`insert_into`]), which counters it moves otherwise ([`counter_moves`]), the rows
//! that it names ([`named_rows`]), which of its literals are values of given columns ([`said_values`]), where a session looks for tables without a
//! schema ([`SearchPath`]), what it does to its transaction ([`TransactionStep`]), whether plimsoll itself has asked it ([`has_own_mark`]), and bytes of it that are no UTF-8 ([`with_bytes_in_literals`])
//! in the character set of its session ([`Letters`]).
//! Limits: a statement is split into tokens and not parsed, so what its tokens do not show is judged as the worse. It knows no server:
//! whoever asks it gives it what a server has of its own (functions, views) as [`ServerNames`].

mod counting;
mod effect;
mod functions;
mod inserted;
mod inserting;
mod letters;
mod lexer;
mod names;
mod own;
mod raw_bytes;
mod reading;
mod rows;
mod said;
mod scopes;
mod search_path;
mod shape;
mod split;
mod transaction;
mod values;

pub use counting::{CounterMove, CountsFrom, NamedCounter, counter_moves};
pub use effect::{Effect, Judge, Judgement};
pub use inserted::{inserted_table, with_inserted};
pub use inserting::{InsertInto, insert_into, loads_rows, verb_at};
pub use letters::Letters;
pub use lexer::{Lexed, Token, TokenKind, Unclosed, lex, lex_to_end, tokens};
pub use names::ServerNames;
pub use own::{has_own_mark, with_own_mark, without_own_mark};
pub use raw_bytes::{has_raw_bytes, text_of_bytes, with_bytes_in_literals};
pub use reading::{Dialect, Reading};
pub use rows::{NAMED_MAX, NamedRows, named_rows};
pub use said::{SaidValue, SaidValues, ValueColumn, said_values};
pub use search_path::SearchPath;
pub use shape::{fingerprint, shape_of};
pub use split::TableName;
pub use transaction::{Behind, TransactionStep};
pub use values::{BoundParam, BoundText, with_values};
