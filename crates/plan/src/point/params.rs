//! The parameters of engine and workload: texts become typed values, and configuration files become variables.
//!
//! A parameter that is not written has its declared default, or what the file at `path` says about the size of its data.

use super::{Choice, default_value};
use crate::document::Written;
use crate::entries::{URL, is_url};
use crate::error::{Place, PlanError};
use crate::{statements, tables, value, variants};
use model::{BACKGROUND, Bytes, Entry, Family, NO_CONFIG, ParamDef, ParamKind, ParamRole, Params, Value};
use std::path::Path;

impl<'a> Choice<'_, 'a> {
    /// Whether this point has the parameter `def`: it has statements only if another parameter asks for them, and a background only if
    /// one was written.
    pub(super) fn has_param(&self, def: &ParamDef, entry: &Entry) -> bool {
        if matches!(def.kind, ParamKind::Background { .. }) {
            return self.chosen_value(def.name).is_some();
        }
        let ParamKind::Statements { if_word: Some((param, word)) } = def.kind else { return true };
        self.has_word(entry, param, word)
    }

    /// Whether the parameter `param` of `entry` is `word`, by choice or by default.
    fn has_word(&self, entry: &Entry, param: &str, word: &str) -> bool {
        let other = entry.params.iter().find(|other| other.name == param);
        self.chosen_value(param).map_or(other.map(|other| other.default), |written| Some(written.text.as_str()))
            == Some(word)
    }

    pub(super) fn typed_params(&self, entry: &Entry) -> Result<Params, PlanError> {
        let needed = entry.params.iter().filter(|def| self.has_param(def, entry));
        let (several, single): (Vec<&ParamDef>, Vec<_>) = needed.partition(|def| def.kind == ParamKind::Variables);
        let variables = several.into_iter().flat_map(|def| self.typed_variables(def));
        let typed = |def: &ParamDef| -> Result<(String, Value), PlanError> {
            let named = (def.name == URL).then(|| self.chosen_value("engine")).flatten().filter(|named| is_url(named));
            let written = named.or(self.chosen_value(def.name)).cloned();
            if let Some(size) = written.is_none().then(|| self.size_at_path(def)).transpose()?.flatten() {
                return Ok((def.name.to_owned(), Value::Bytes(size)));
            }
            if let Some(other) =
                def.default_if.filter(|other| written.is_none() && self.has_word(entry, other.param, other.word))
            {
                return Ok((def.name.to_owned(), Value::Int(other.value)));
            }
            let written = written.unwrap_or_else(|| default_value(def.name, def.default));
            if let (ParamKind::Statements { if_word }, "") = (def.kind, written.text.as_str()) {
                return Err(self.no_statements(def, if_word));
            }
            if let (ParamKind::Tables { optional_if: Some((param, word)) }, "") = (def.kind, written.text.as_str())
                && self.has_word(entry, param, word)
            {
                return Ok((def.name.to_owned(), Value::Tables(Vec::new())));
            }
            if matches!(def.kind, ParamKind::Background { .. }) {
                self.check_takes_sql(&written)?;
            }
            if matches!(def.kind, ParamKind::Variants | ParamKind::DataSets) {
                let engine = self.engine_and_workload()?.0.name;
                return Ok((def.name.to_owned(), variants::typed(&written, def.kind, engine, self.catalogue)?));
            }
            Ok((def.name.to_owned(), value::parse_param(def, &written, self.scale, &self.catalogue.distributions)?))
        };
        let typed = single.into_iter().map(typed).chain(variables).collect::<Result<_, _>>().map(Params)?;
        self.check_tables(entry, &typed)?;
        self.with_recording(entry, self.with_config(entry, typed)?)
    }

    /// The value of a parameter as it is written: the one chosen, else its default.
    pub(super) fn common_or_own(&self, def: &ParamDef) -> Written<'a> {
        self.chosen_value(def.name).cloned().unwrap_or_else(|| default_value(def.name, def.default))
    }

    /// Refuses statements for the background of an engine that takes none.
    fn check_takes_sql(&self, written: &Written<'_>) -> Result<(), PlanError> {
        let (engine, _) = self.engine_and_workload()?;
        if engine.families.contains(&Family::Sql) {
            return Ok(());
        }
        let name = engine.name;
        let text = format_args!(
            "a `[[{BACKGROUND}]]` needs an SQL engine, and `{name}` is none; leave it out, or measure `{name}` in a sweep of its own"
        );
        Err(written.place.error(text))
    }

    /// Refuses tables that cannot be made, and statements on what they have not.
    fn check_tables(&self, entry: &Entry, params: &Params) -> Result<(), PlanError> {
        let value_of =
            |is_kind: fn(ParamKind) -> bool| entry.params.iter().find(|def| is_kind(def.kind)).map(|def| def.name);
        let statements = value_of(|kind| matches!(kind, ParamKind::Statements { .. }));
        let ops = statements.map_or(&[][..], |name| params.statements(name));
        let place_of = |name: Option<&str>| name.and_then(|name| self.chosen_value(name)).map(|written| written.place);
        let Some(tables) = value_of(|kind| matches!(kind, ParamKind::Tables { .. })) else {
            let place = place_of(statements).unwrap_or(Place::Default("statement"));
            return statements::without_columns(ops).map_err(|what| place.error(what));
        };
        (self.catalogue.check_tables)(params).map_err(|fault| {
            let of_table = self.chosen_value(tables).and_then(|written| tables::error_at(written, &fault));
            let place = place_of(statements).unwrap_or(Place::Default("statement"));
            of_table.unwrap_or_else(|| place.error(&fault.text))
        })
    }

    /// The error that there are no statements for `def`, which needs them.
    fn no_statements(&self, def: &ParamDef, if_word: Option<(&'static str, &'static str)>) -> PlanError {
        let (key, what) = match if_word {
            Some((param, word)) => (param, format!("{param} = `{word}`")),
            None => ("workload", format!("workload `{}`", self.common_value("workload").text)),
        };
        let place = self.chosen_value(key).map_or(Place::Default(def.name), |other| other.place);
        place.error(format_args!("{what} needs statements; write them in a plan file as `[[{}]]`", def.name))
    }

    /// `params` with the variables of the configuration file that they name, except those that the plan sets itself.
    fn with_config(&self, entry: &Entry, mut params: Params) -> Result<Params, PlanError> {
        let Some(def) = entry.params.iter().find(|def| def.kind == ParamKind::ConfigFile) else { return Ok(params) };
        let Some(written) = self.chosen_value(def.name) else { return Ok(params) };
        let file = params.word(def.name).to_owned();
        if file == NO_CONFIG {
            return Ok(params);
        }
        let set = (self.catalogue.read_config)(entry.name, Path::new(&file)).map_err(|why| written.place.error(why))?;
        for (key, value) in set {
            params.0.entry(key).or_insert(Value::Word(value));
        }
        params.0.insert(def.name.to_owned(), Value::Word(self.short_name(def.name, &file)));
        Ok(params)
    }

    /// The last part of the path `file`, unless `key` names another file that is called so.
    fn short_name(&self, key: &str, file: &str) -> String {
        let name_of = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
        let all = self.settings.iter().filter(|setting| setting.key == key).flat_map(|setting| &setting.values);
        let name = name_of(file);
        let is_unique = all.filter(|other| name_of(&other.text) == name).count() == 1;
        if is_unique && name != NO_CONFIG { name } else { file.to_owned() }
    }

    /// The size of the file that the point measures, if `def` is the size of its data and the file is there already.
    pub(super) fn size_at_path(&self, def: &ParamDef) -> Result<Option<Bytes>, PlanError> {
        if def.role != ParamRole::DataSize || !matches!(def.kind, ParamKind::Bytes { .. }) {
            return Ok(None);
        }
        let path = self.target_path(&self.engine_and_workload()?.0)?;
        Ok(path.and_then(|path| (self.catalogue.size_at)(&path)))
    }

    /// The variables that `def` takes, as far as they are set.
    fn typed_variables(&self, def: &ParamDef) -> Vec<Result<(String, Value), PlanError>> {
        let set = self.settings.iter().zip(&self.picked).filter(|(setting, _)| def.takes(&setting.key));
        let typed = |written: &Written<'_>| Ok((written.key.clone(), Value::Word(value::parse_variable(written)?)));
        set.map(|(setting, picked)| typed(&setting.values[*picked])).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{with_a_tuned_engine, with_engines_of_a_server as catalogue};
    use crate::{Overrides, from_flags};
    use model::{Trial, Value};

    /// The parameters of each point on the engine `tuned`, in words.
    fn tuned(flags: &[(&str, &str)]) -> Result<Vec<String>, String> {
        let flags = flags
            .iter()
            .map(|(key, text)| (key.to_string(), text.to_string()))
            .chain([("engine", "tuned"), ("repeat", "1")].map(|(key, text)| (key.into(), text.into())));
        let plan = from_flags("oltp", &Overrides::from_flags(flags.collect()), 1.0, &with_a_tuned_engine());
        let words = |trial: &Trial| trial.target.params.0.values().map(Value::to_string).collect::<Vec<_>>().join(" ");
        Ok(plan.map_err(|error| error.to_string())?.trials.iter().map(words).collect())
    }

    #[test]
    fn a_configuration_file_becomes_variables_and_its_name() {
        assert_eq!(tuned(&[]).unwrap(), ["default"]);
        assert_eq!(tuned(&[("config", "")]).unwrap(), ["default"]);
        let points = tuned(&[("config", "default,/etc/few.cnf,many.cnf")]).unwrap();
        assert_eq!(points, ["default", "few.cnf 2M 1", "many.cnf 2M 8"]);
        let two_of_one_name = tuned(&[("config", "a/few.cnf,b/few.cnf")]).unwrap();
        assert_eq!(two_of_one_name, ["a/few.cnf 2M 1", "b/few.cnf 2M 1"]);
    }

    #[test]
    fn what_a_plan_sets_itself_is_stronger_than_the_file() {
        let points = tuned(&[("config", "few.cnf"), ("tuned.threads", "3,4")]).unwrap();
        assert_eq!(points, ["few.cnf 2M 3", "few.cnf 2M 4"]);
    }

    #[test]
    fn a_configuration_file_that_cannot_be_used_is_refused_with_its_flag() {
        assert_eq!(tuned(&[("config", "few.cnf,x.cnf")]).unwrap_err(), "--config: `x.cnf`, line 3: no");
        assert!(tuned(&[("config", "few.cnf,few.cnf")]).unwrap_err().contains("twice"));
    }

    #[test]
    fn variables_of_a_server_are_dimensions_under_its_name() {
        let text = "workload = 'oltp'\nengine = ['maria:innodb', 'maria:rocksdb']\nmaria.purge_threads = [1, 4]\n";
        let read = |text: &str| crate::parse(text, "p.toml", &Overrides::default(), 1.0, &catalogue());
        let plan = read(text).unwrap();
        let told = |trial: &model::Trial| {
            trial.target.params.0.iter().map(|(name, value)| format!("{name}={value}")).collect()
        };
        let told: Vec<Vec<String>> = plan.trials.iter().map(told).collect();
        assert_eq!(told, [vec!["maria.purge_threads=1"], vec!["maria.purge_threads=4"], vec![]]);
        assert_eq!(crate::estimate(&plan, &catalogue()).data_sets, 3, "each starts a server of its own");
        let flags = Overrides::from_flags(vec![
            ("engine".into(), "maria".into()),
            ("maria.purge_threads".into(), "1,4".into()),
        ]);
        let printed = crate::to_toml("oltp", &flags, 1.0, &catalogue());
        let same = from_flags("oltp", &flags, 1.0, &catalogue()).unwrap();
        assert_eq!(read(&printed).unwrap(), same, "{printed}");
        for (text, message) in [
            (
                "maria.Purge = 1",
                "p.toml:2: `maria.Purge` is no name of a variable: small letters, digits and `_` behind one dot",
            ),
            (
                "maria.a.b = 1",
                "p.toml:2: `maria.a` cannot be a table; use text in quotes, a number, `true` or `false`, or a list of these",
            ),
            ("other.a = 1", "p.toml:2: unknown key `other.a`"),
            (
                "maria.a = ''",
                "p.toml:2: `maria.a` has an empty value; use 1 to 1000 characters, none of them a control character",
            ),
        ] {
            let refusal = read(&format!("workload = 'oltp'\n{text}\nengine = 'maria'\n")).unwrap_err().to_string();
            assert!(refusal.starts_with(message), "{refusal}");
        }
    }
}
