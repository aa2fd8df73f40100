//! Which engine and which workload a point has, and the folder of the engine's programs.
//!
//! A name is searched for among the engines of the catalogue; a refusal names those that can run the workload.

use super::Choice;
use crate::document::Written;
use crate::entries::{self, URL, cannot_run, declares_param, default_engine, find_entry, is_url, share_family};
use crate::error::PlanError;
use model::Entry;
use std::path::PathBuf;

impl Choice<'_, '_> {
    /// The engine and the workload chosen, which have a family of operations in common.
    pub(crate) fn engine_and_workload(&self) -> Result<(Entry, Entry), PlanError> {
        let named = self.common_value("workload");
        let workload = find_entry(&named, &self.catalogue.workloads)?;
        let Some(named) = self.chosen_value("engine") else {
            let engine = default_engine(&workload, &self.catalogue.engines);
            let engine = engine.ok_or_else(|| named.place.error(format_args!("no engine can run `{}`", workload.name)));
            return engine.map(|engine| (engine, workload));
        };
        let engine =
            self.find_engine(named).map_err(|error| self.refusal_among_able(named, &workload).unwrap_or(error))?;
        if !share_family(&engine, &workload) {
            return Err(named.place.error(cannot_run(&engine, &workload, &self.catalogue.engines)));
        }
        Ok((engine, workload))
    }

    /// The engine of that name, or the one that takes such a URL. The server that `url` has the address of may be named, too: `mysql`.
    fn find_engine(&self, named: &Written<'_>) -> Result<Entry, PlanError> {
        let engines = &self.catalogue.engines;
        let by_url = engines.iter().find(|entry| entry.name == named.text && declares_param(entry, URL));
        match by_url.filter(|_| self.chosen_value(URL).is_some()) {
            Some(entry) => Ok(*entry),
            None => entries::find_engine(named, engines),
        }
    }

    /// The same refusal with those engines only that can run `workload`; `None` of a URL, which names them by its kind.
    fn refusal_among_able(&self, named: &Written<'_>, workload: &Entry) -> Option<PlanError> {
        let able = self.catalogue.engines.iter().filter(|engine| share_family(engine, workload)).copied();
        if is_url(named) { None } else { entries::find_engine(named, &able.collect::<Vec<_>>()).err() }
    }

    pub(super) fn program_folder(&self) -> Result<Option<PathBuf>, PlanError> {
        self.chosen_value("engine").map_or(Ok(None), entries::folder_in)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::with_engines_of_a_server as catalogue;
    use crate::{Overrides, from_flags};

    fn engine(text: &str) -> Result<(String, String), String> {
        let overrides = Overrides::from_flags(vec![("engine".into(), text.into())]);
        let plan = from_flags("oltp", &overrides, 1.0, &catalogue()).map_err(|error| error.to_string())?;
        let target = &plan.trials[0].target;
        Ok((target.engine.clone(), target.params.0.get("url").map(|url| url.to_string()).unwrap_or_default()))
    }

    #[test]
    fn a_server_alone_is_the_first_of_its_engines() {
        assert_eq!(engine("maria").unwrap().0, "maria:innodb");
        assert_eq!(engine("maria:rocksdb").unwrap().0, "maria:rocksdb");
        assert!(engine("maria:").is_err());
        let names =
            "`fjall`, `maria`, `maria:innodb`, `maria:rocksdb`, `mysql`, `mysql:innodb`, or a URL (`mysql://...`)";
        assert!(engine("mar").unwrap_err().contains(names), "{}", engine("mar").unwrap_err());
    }

    #[test]
    fn two_names_of_one_engine_are_refused_by_their_flag() {
        let twice = engine("maria,maria:innodb").unwrap_err();
        assert_eq!(twice, "--engine: `maria` and `maria:innodb` are the same engine; remove one");
        assert!(engine("maria:innodb,maria:rocksdb").is_ok());
    }

    #[test]
    fn a_name_without_a_url_is_the_private_server_and_with_one_the_existing_server() {
        assert_eq!(engine("mysql").unwrap().0, "mysql:innodb");
        let flags = [("engine", "mysql"), ("url", "mysql://u@h/")].map(|(key, text)| (key.into(), text.into()));
        let plan = from_flags("oltp", &Overrides::from_flags(flags.into()), 1.0, &catalogue()).unwrap();
        assert_eq!(plan.trials[0].target.engine, "mysql");
    }

    #[test]
    fn an_engine_may_name_the_folder_of_its_programs() {
        let targets = |text: &str| {
            let overrides = Overrides::from_flags(vec![("engine".into(), text.into()), ("repeat".into(), "1".into())]);
            let plan = from_flags("oltp", &overrides, 1.0, &catalogue()).map_err(|error| error.to_string())?;
            let of = |trial: &model::Trial| {
                let folder = trial.target.programs.as_ref().map(|folder| folder.display().to_string());
                (trial.target.engine.clone(), folder.unwrap_or_default())
            };
            Ok::<_, String>(plan.trials.iter().map(of).collect::<Vec<_>>())
        };
        let told = targets("maria@/opt/a b,maria:rocksdb@/opt/a b,maria@../c@2,maria").unwrap();
        let expected = [
            ("maria:innodb", "/opt/a b"),
            ("maria:rocksdb", "/opt/a b"),
            ("maria:innodb", "../c@2"),
            ("maria:innodb", ""),
        ];
        assert_eq!(told, expected.map(|(name, folder)| (name.to_owned(), folder.to_owned())));
        for (text, message) in [
            ("maria@", "--engine: `maria@` names no folder; write `maria@DIR`, or `maria` for the installed server"),
            ("maria@/a,maria:innodb@/a", "--engine: `maria@/a` and `maria:innodb@/a` are the same engine; remove one"),
            ("marai@/a", "--engine cannot be `marai`"),
        ] {
            let refusal = targets(text).unwrap_err();
            assert!(refusal.starts_with(message), "{refusal}");
        }
        let text = "workload = 'oltp'\nengine = ['maria@/a', 'maria@/b']\nrepeat = 2";
        let plan = crate::parse(text, "p.toml", &Overrides::default(), 1.0, &catalogue()).unwrap();
        let folders: Vec<_> =
            plan.trials.iter().filter_map(|trial| trial.target.programs.as_deref()?.to_str()).collect();
        assert_eq!(folders, ["/a", "/b", "/b", "/a"], "interleaved as every dimension is");
        let once = text.trim_end_matches("\nrepeat = 2");
        let once = crate::parse(once, "p.toml", &Overrides::default(), 1.0, &catalogue()).unwrap();
        assert_eq!(crate::estimate(&once, &catalogue()).data_sets, 2, "two folders share no data");
        assert_eq!(crate::check(&plan, "run", &catalogue()), Ok(()));
    }

    #[test]
    fn a_name_that_is_no_engine_is_answered_with_those_that_can_run_the_workload() {
        let refused = engine("sqlit").unwrap_err();
        assert!(refused.contains("did you mean `sqlite`?") && !refused.contains("`file`"), "{refused}");
        let maria = engine("mariadb://u@h/").unwrap_err();
        assert_eq!(maria, "--engine: no engine for `mariadb://`; use `mysql://`; did you mean `mysql://`?");
    }

    #[test]
    fn a_url_is_the_engine_that_takes_it_and_its_parameter() {
        let url = "mysql://user@localhost/?socket=/run/s.sock";
        assert_eq!(engine(url).unwrap(), ("mysql".into(), url.into()));
    }

    #[test]
    fn a_url_without_an_engine_is_refused_and_not_shown() {
        for (url, what) in [
            ("oracle://u:canary@h/", "`oracle://`"),
            ("m://u:canary@h/", "`m://`"),
            ("://u:canary@h/", "this URL"),
            ("mysql:/u:canary@h/x?y=://", "this URL"),
        ] {
            let refusal = engine(url).unwrap_err();
            assert_eq!(refusal, format!("--engine: no engine for {what}; use `mysql://`"));
        }
    }
}
