//! Every text of a recorded run, in one place.
//!
//! In: a run. Out: each of its texts, once, with what it is the text of. Limits: words of a fixed list (the state of a point, the kind of an
//! event) are types and no texts. A field of text that is new in the model has to be added here; a test finds one that is not.

use model::own_table::{DrawnValues, OwnColumn, OwnConstant, OwnKeys, OwnTable, ValueNumbers, ValueShape, ValueSource};
use model::statement::{CustomOp, Draw};
use model::{
    Access, Asked, Event, Fact, HostData, KindDef, Machine, MissingPart, OTHER_SERVER_FACTS, Observation,
    ObservedSession, OtherServerSeen, Params, Plan, PointData, PointOutcome, PointTraits, RunData, RunMeta, ServerLook,
    ServerSetting, SourceDef, SqlDataSet, SqlVariant, StackSnapshot, Trial, Value,
};
use std::path::PathBuf;

/// What a text is the text of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPlace<'a> {
    /// The value of the fact, parameter or setting of this name.
    Named(&'a str),
    Path,
    /// Anything else: a title, a message, the name of something.
    Other,
}

/// What is done with each text.
pub type Visit<'a> = &'a mut dyn FnMut(TextPlace, &mut String);

/// Visits every text of `run`.
pub fn visit_texts(run: &mut RunData, visit: Visit) {
    visit_meta(&mut run.meta, visit);
    run.points.iter_mut().for_each(|point| visit_point(point, visit));
}

fn visit_meta(meta: &mut RunMeta, visit: Visit) {
    visit(TextPlace::Other, &mut meta.run_id);
    visit(TextPlace::Other, &mut meta.plimsoll_version);
    visit_plan(&mut meta.plan, visit);
    visit_facts(&mut meta.environment, visit);
    let Machine { disk, ceilings_measured, ceilings_kernel, .. } = &mut meta.machine;
    visit_some([disk, ceilings_measured, ceilings_kernel], visit);
}

fn visit_plan(plan: &mut Plan, visit: Visit) {
    visit(TextPlace::Other, &mut plan.name);
    visit(TextPlace::Other, &mut plan.title);
    let Asked { question, compare, over } = &mut plan.asked;
    visit_some([question, compare, over, &mut plan.ab], visit);
    if let Some(why) = &mut plan.why {
        visit(TextPlace::Other, &mut why.run_id);
        visit_some([&mut why.engine_version], visit);
        why.arms.iter_mut().for_each(|arm| visit(TextPlace::Other, &mut arm.setting));
    }
    plan.trials.iter_mut().for_each(|trial| visit_trial(trial, visit));
}

fn visit_trial(trial: &mut Trial, visit: Visit) {
    visit(TextPlace::Other, &mut trial.target.engine);
    visit_path(&mut trial.target.programs, visit);
    visit_path(&mut trial.target.path, visit);
    visit_params(&mut trial.target.params, visit);
    visit(TextPlace::Other, &mut trial.workload.name);
    visit_params(&mut trial.workload.params, visit);
    if let Some(limit) = &mut trial.limit {
        // A kind keeps the name that it has in the list of kinds.
        limit.spec.objective.rename_kinds(|kind| visit(TextPlace::Other, kind));
    }
    trial.data_set.iter_mut().for_each(|set| visit(TextPlace::Other, &mut set.name));
}

fn visit_path(path: &mut Option<PathBuf>, visit: Visit) {
    let Some(path) = path else { return };
    let mut text = path.to_string_lossy().into_owned();
    visit(TextPlace::Path, &mut text);
    *path = text.into();
}

fn visit_params(params: &mut Params, visit: Visit) {
    let all = std::mem::take(&mut params.0);
    let visited = all.into_iter().map(|(mut name, mut value)| {
        visit_value(&name, &mut value, visit);
        visit(TextPlace::Other, &mut name);
        (name, value)
    });
    params.0 = visited.collect();
}

fn visit_value(name: &str, value: &mut Value, visit: Visit) {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Bytes(_) | Value::Nanos(_) => {}
        Value::Word(word) => visit(TextPlace::Named(name), word),
        Value::Access(Access { name, .. }) => visit(TextPlace::Other, name),
        Value::Statements(all) => all.iter_mut().for_each(|op| visit_op(op, visit)),
        Value::Background(all) => all.iter_mut().for_each(|entry| visit_op(&mut entry.op, visit)),
        Value::Tables(all) => all.iter_mut().for_each(|table| visit_table(table, visit)),
        Value::Variant(SqlVariant { name, steps }) => {
            visit(TextPlace::Other, name);
            steps.iter_mut().for_each(|step| visit(TextPlace::Other, &mut step.sql));
        }
        Value::Recording(summary) => visit(TextPlace::Path, &mut summary.path),
        Value::Data(SqlDataSet { name, statements }) => {
            visit(TextPlace::Other, name);
            visit_all(statements, visit);
        }
    }
}

fn visit_op(op: &mut CustomOp, visit: Visit) {
    visit(TextPlace::Other, &mut op.name);
    for statement in &mut op.statements {
        visit(TextPlace::Other, &mut statement.text);
        statement.values.iter_mut().for_each(|value| visit_draw(&mut value.draw, visit));
    }
}

fn visit_table(table: &mut OwnTable, visit: Visit) {
    let OwnTable { name, rows: _, columns, primary_key, indexes, partitions, keys } = table;
    visit(TextPlace::Other, name);
    columns.iter_mut().for_each(|column| visit_column(column, visit));
    visit_all(primary_key, visit);
    for index in indexes {
        visit(TextPlace::Other, &mut index.name);
        visit_all(&mut index.columns, visit);
    }
    partitions.iter_mut().for_each(|partitions| visit(TextPlace::Other, &mut partitions.column));
    if let Some(OwnKeys { sql, columns }) = keys {
        visit(TextPlace::Other, sql);
        visit_all(columns, visit);
    }
}

fn visit_column(column: &mut OwnColumn, visit: Visit) {
    visit(TextPlace::Other, &mut column.name);
    match &mut column.source {
        ValueSource::Constant(OwnConstant::Text(text)) => visit(TextPlace::Other, text),
        ValueSource::Constant(OwnConstant::Units(_) | OwnConstant::Bool(_)) | ValueSource::Serial => {}
        ValueSource::Computed { column, .. } => visit(TextPlace::Other, column),
        ValueSource::Reference { table, column, numbers } => {
            visit(TextPlace::Other, table);
            visit(TextPlace::Other, column);
            visit_numbers(numbers, visit);
        }
        ValueSource::Drawn(DrawnValues { numbers, depends_on, shape }) => {
            visit_numbers(numbers, visit);
            depends_on.iter_mut().for_each(|other| visit(TextPlace::Other, &mut other.column));
            if let ValueShape::Texts(texts) = shape {
                visit_all(texts, visit);
            }
        }
    }
}

fn visit_numbers(numbers: &mut ValueNumbers, visit: Visit) {
    numbers.access.iter_mut().for_each(|access| visit(TextPlace::Other, &mut access.name));
}

fn visit_draw(draw: &mut Draw, visit: Visit) {
    if let Draw::Column(name) | Draw::NewColumn(name) = draw {
        visit(TextPlace::Other, &mut name.table);
        visit(TextPlace::Other, &mut name.column);
    }
}

fn visit_point(point: &mut PointData, visit: Visit) {
    visit_some([&mut point.error], visit);
    visit_trial(&mut point.trial, visit);
    visit_facts(&mut point.facts, visit);
    visit_traits(&mut point.traits, visit);
    point.params.iter_mut().for_each(|param| visit(TextPlace::Other, &mut param.name));
    point.kinds.iter_mut().for_each(|KindDef { name, .. }| visit(TextPlace::Other, name));
    point.sources.iter_mut().for_each(|source| visit_source(source, visit));
    point.events.iter_mut().for_each(|Event { text, .. }| visit(TextPlace::Other, text));
    point.stacks.iter_mut().for_each(|snapshot| visit_stacks(snapshot, visit));
    point.hosts.iter_mut().for_each(|host| visit_host(host, visit));
}

fn visit_host(recorded: &mut HostData, visit: Visit) {
    visit(TextPlace::Named("host"), &mut recorded.host.name);
    visit(TextPlace::Other, &mut recorded.host.incarnation);
    visit_facts(&mut recorded.host.facts, visit);
    recorded.sources.iter_mut().for_each(|source| visit_source(source, visit));
    recorded.events.iter_mut().for_each(|Event { text, .. }| visit(TextPlace::Other, text));
}

fn visit_source(source: &mut SourceDef, visit: Visit) {
    visit(TextPlace::Other, &mut source.name);
    visit(TextPlace::Other, &mut source.subject);
    for counter in &mut source.counters {
        visit(TextPlace::Other, &mut counter.name);
        visit(TextPlace::Other, &mut counter.unit);
        visit(TextPlace::Other, &mut counter.help);
    }
}

fn visit_stacks(snapshot: &mut StackSnapshot, visit: Visit) {
    visit(TextPlace::Other, &mut snapshot.tool);
    snapshot.stacks.iter_mut().for_each(|stack| visit_all(&mut stack.frames, visit));
}

fn visit_traits(traits: &mut PointTraits, visit: Visit) {
    let PointTraits { engine, work, course, outcome, defaults, phrases, found_data, imported, observed } = traits;
    visit_some([&mut engine.version, &mut engine.durability, &mut engine.limited_device], visit);
    engine.endpoints.iter_mut().for_each(|endpoint| visit(TextPlace::Named("endpoints"), endpoint));
    for ServerSetting { name, value, .. } in &mut engine.settings {
        visit(TextPlace::Named(name), value);
        visit(TextPlace::Other, name);
    }
    visit_some([&mut work.kernel, imported], visit);
    if let Some(step) = &mut work.step {
        visit(TextPlace::Other, &mut step.name);
        visit_some([&mut step.group], visit);
    }
    if let Some(variant) = &mut work.variant {
        visit(TextPlace::Other, &mut variant.name);
        visit(TextPlace::Other, &mut variant.param);
    }
    visit_all(&mut course.replayed_steps, visit);
    visit_all(defaults, visit);
    phrases.values_mut().for_each(|phrase| visit(TextPlace::Other, phrase));
    // Tables of the user have names of the user.
    found_data.iter_mut().for_each(|found| visit_some([&mut found.tables], visit));
    observed.iter_mut().for_each(|observed| visit_observation(observed, visit));
    visit_outcome(outcome, visit);
}

fn visit_observation(observed: &mut Observation, visit: Visit) {
    for statement in observed.statements.iter_mut().chain(&mut observed.others) {
        visit(TextPlace::Other, &mut statement.text);
        visit_some([&mut statement.database], visit);
    }
    observed.url.iter_mut().for_each(|url| visit(TextPlace::Named("server.url"), url));
    for MissingPart { what, mend } in &mut observed.missing {
        visit(TextPlace::Other, what);
        visit(TextPlace::Other, mend);
    }
    for event in &mut observed.events {
        visit(TextPlace::Other, &mut event.condition);
        event.looks.iter_mut().for_each(|look| visit_look(look, visit));
    }
    observed.unheld.iter_mut().for_each(|condition| visit(TextPlace::Other, condition));
    if let Some(log) = &mut observed.log {
        visit(TextPlace::Other, &mut log.file);
        log.messages.iter_mut().for_each(|message| visit(TextPlace::Other, &mut message.text));
    }
    observed.replica.iter_mut().for_each(|replica| visit(TextPlace::Other, &mut replica.stopped_by));
}

fn visit_look(look: &mut ServerLook, visit: Visit) {
    for ObservedSession { user, database, doing, statement, .. } in &mut look.sessions {
        visit(TextPlace::Named("user"), user);
        visit_some([database], visit);
        visit(TextPlace::Other, doing);
        visit(TextPlace::Other, statement);
    }
    look.waits.iter_mut().for_each(|wait| visit_some([&mut wait.lock], visit));
    visit_some([&mut look.failed], visit);
}

fn visit_outcome(outcome: &mut PointOutcome, visit: Visit) {
    for changed in &mut outcome.changed_settings {
        visit(TextPlace::Named(&changed.name), &mut changed.before);
        visit(TextPlace::Named(&changed.name), &mut changed.after);
        visit(TextPlace::Other, &mut changed.name);
    }
    if let Some(OtherServerSeen { first, other }) = &mut outcome.other_server {
        visit(TextPlace::Named(OTHER_SERVER_FACTS[0]), first);
        visit(TextPlace::Named(OTHER_SERVER_FACTS[1]), other);
    }
    visit_some([&mut outcome.server_ended, &mut outcome.built, &mut outcome.plan], visit);
    visit_some([&mut outcome.data_set, &mut outcome.data_set_changed], visit);
    outcome.broken_conditions.iter_mut().for_each(|broken| visit(TextPlace::Other, &mut broken.text));
    outcome.io_workers.iter_mut().for_each(|workers| visit_some([&mut workers.cpu], visit));
    outcome.result.iter_mut().for_each(|result| visit(TextPlace::Other, &mut result.checksum));
    outcome.hold.iter_mut().for_each(|hold| visit_some([&mut hold.error], visit));
    if let Some(divergence) = &mut outcome.replay_divergence {
        divergence.kinds.iter_mut().for_each(|kind| visit(TextPlace::Other, &mut kind.kind));
        visit_all(&mut divergence.still_keys, visit);
    }
    for results in &mut outcome.replay_results {
        visit(TextPlace::Other, &mut results.kind);
        visit(TextPlace::Other, &mut results.checksum);
    }
    for plan in &mut outcome.replay_plans {
        visit(TextPlace::Other, &mut plan.kind);
        visit_all(&mut plan.steps, visit);
    }
    outcome.replay_failures.iter_mut().for_each(|failure| visit(TextPlace::Other, &mut failure.message));
}

fn visit_facts(facts: &mut [Fact], visit: Visit) {
    for Fact { name, value } in facts {
        visit(TextPlace::Named(name), value);
        visit(TextPlace::Other, name);
    }
}

fn visit_all(texts: &mut [String], visit: Visit) {
    texts.iter_mut().for_each(|text| visit(TextPlace::Other, text));
}

fn visit_some<const N: usize>(texts: [&mut Option<String>; N], visit: Visit) {
    texts.into_iter().flatten().for_each(|text| visit(TextPlace::Other, text));
}
