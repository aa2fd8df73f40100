//! A corpus of statements with what each says: `corpus/statements.tsv`, and how fast that is found.
//!
//! Each line: dialect, effect with its cause, shape, text. `\n` is an end of a line.

use sql::{Dialect, Judge, fingerprint};

const STATEMENTS: &str = include_str!("corpus/statements.tsv");

fn dialect(word: &str) -> Dialect {
    match word {
        "my" => Dialect::Mysql,
        "pg" => Dialect::Postgres,
        other => panic!("`{other}` is no dialect"),
    }
}

#[test]
fn each_statement_of_the_corpus_says_what_is_written_beside_it() {
    let mut wrong = Vec::new();
    for line in STATEMENTS.lines().filter(|line| !line.starts_with('#')) {
        let [of, effect, shape, text] = line.split('\t').collect::<Vec<_>>()[..] else { panic!("`{line}`") };
        let (dialect, text) = (dialect(of), text.replace("\\n", "\n"));
        let found = Judge::new(dialect).judge(&text);
        let told = found.map_or("unclosed".to_owned(), |found| match found.cause {
            Some(cause) => format!("{:?} {cause}", found.effect),
            None => format!("{:?}", found.effect),
        });
        let found_shape = fingerprint(&text, dialect).unwrap_or_default();
        if told != effect || shape != "-" && found_shape != shape {
            wrong.push(format!("{of}\t{told}\t{found_shape}\t{text}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Statements of sysbench's and TPC-C's shapes.
const COMMON: [&str; 10] = [
    "SELECT c FROM sbtest1 WHERE id=50123",
    "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN 4990 AND 5089",
    "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN 4990 AND 5089 ORDER BY c",
    "UPDATE sbtest1 SET k=k+1 WHERE id=4993",
    "UPDATE sbtest1 SET c='68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-28203206787-41238978918-19503783441' WHERE id=5011",
    "INSERT INTO sbtest1 (id, k, c, pad) VALUES (5000, 4986, '68487932199-96439406143-93774651418-41631865787-96406072701-20604855487-25459966574-28203206787-41238978918-19503783441', '22195207048-70116052123-74140395089-76317954521-98694025897')",
    "SELECT c_discount, c_last, c_credit, w_tax FROM customer1, warehouse1 WHERE w_id = 1 AND c_w_id = w_id AND c_d_id = 5 AND c_id = 2101",
    "SELECT d_next_o_id, d_tax FROM district1 WHERE d_w_id = 1 AND d_id = 5 FOR UPDATE",
    "SELECT s_quantity, s_data, s_dist_05 s_dist FROM stock1 WHERE s_i_id = 77001 AND s_w_id= 1 FOR UPDATE",
    "SELECT COUNT(DISTINCT (s_i_id)) FROM order_line1, stock1 WHERE ol_w_id = 1 AND ol_d_id = 5 AND ol_o_id < 3001 AND ol_o_id >= 2981 AND s_w_id= 1 AND s_i_id=ol_i_id AND s_quantity < 15",
];

/// How many of these a second are judged and get their shapes; `cargo xtask bench sql` runs it.
#[test]
#[ignore = "a measurement; it needs a build with optimisation"]
fn the_bench() {
    for (name, dialect) in [("mysql", Dialect::Mysql), ("postgres", Dialect::Postgres)] {
        let judge = Judge::new(dialect);
        let mut best = 0f64;
        for _ in 0..5 {
            let (begun, rounds) = (std::time::Instant::now(), 20_000);
            let mut bytes = 0;
            for _ in 0..rounds {
                for text in COMMON {
                    let lexed = sql::lex(text, sql::Reading::usual(dialect)).unwrap();
                    let effect = judge.judge_lexed(text, &lexed).effect as usize;
                    bytes += sql::shape_of(text, &lexed.tokens).len() + effect;
                }
            }
            assert!(bytes > 0);
            best = best.max((rounds * COMMON.len()) as f64 / begun.elapsed().as_secs_f64());
        }
        println!("figure\t{name}\t{best:.0}");
    }
}

/// No text is too strange, tokens follow one another, and between two of them is nothing but blanks and comments.
fn check_tokens(text: &str) {
    for dialect in [Dialect::Mysql, Dialect::Postgres, Dialect::Any] {
        let Ok(lexed) = sql::lex(text, sql::Reading::usual(dialect)) else { continue };
        let mut end = 0;
        for token in &lexed.tokens {
            assert!(token.start >= end && token.end > token.start && token.end <= text.len(), "{text:?}: {token:?}");
            assert!(!token.text(text).trim_ascii().is_empty(), "{text:?}");
            end = token.end;
        }
        drop((
            Judge::new(dialect).judge(text),
            sql::shape_of(text, &lexed.tokens),
            sql::with_values(text, dialect, &["1"]),
        ));
    }
}

proptest::proptest! {
    #[test]
    fn no_text_is_too_strange(text: String) {
        check_tokens(&text);
    }

    #[test]
    fn no_signs_are_too_strange(text in "[a'\"`$\\\\/*#;(),.0-9eE+@!M:=? \n-]{0,60}") {
        check_tokens(&text);
    }

    #[test]
    fn a_comment_or_a_text_around_it_makes_no_write_a_read(at in 0usize..40, what in "[a'\"`$\\\\/*#;() \n!-]{0,8}") {
        let write = "SELECT c FROM t INTO OUTFILE '/tmp/x' ";
        let text = format!("{}{what}{}", &write[..at.min(write.len())], &write[at.min(write.len())..]);
        // Whatever is put in: if the words are still code by the usual reading, they count.
        if let Ok(tokens) = sql::tokens(&text, Dialect::Mysql)
            && tokens.iter().any(|token| token.is_word(&text, &["into"]))
        {
            let found = Judge::new(Dialect::Mysql).judge(&text).unwrap();
            assert!(found.effect > sql::Effect::Reads || text.contains('.'), "{text}");
        }
    }
}
