//! What the tests of this crate share.
//!
//! In: nothing. Out: a catalogue without engines. Limits: what declared parameters do is tested with the program.

use model::{Catalogue, EngineProcess};

pub fn catalogue() -> Catalogue {
    Catalogue {
        engines: Vec::new(),
        workloads: Vec::new(),
        distributions: Vec::new(),
        run_ops: |_, _| None,
        load_rows: |_, _| None,
        traits: |_, _| Default::default(),
        shares_data: |_, _| false,
        usable_cpus: 1,
        has_step: |_, _, _| true,
        engine_process: |_| EngineProcess::Unknown,
        size_at: |_| None,
        read_config: |_, _| Ok(Vec::new()),
        read_recording: |_, _, _| Err("no files".into()),
        check_tables: |_| Ok(()),
        read_text: |_| Ok(String::new()),
    }
}
