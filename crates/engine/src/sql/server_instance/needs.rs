//! Whether the server takes all clients of a trial.
//!
//! In: a trial, the variables of the server. Out: a refusal before its data is made, and warnings. Limits: the clients of a hold are as
//! many as the server takes, so they are not counted.

use super::{DataLocation, SqlServer, SqlServerInstance};
use crate::connect;
use crate::sql::client_needs::ClientNeeds;
use crate::sql::program_of;
use crate::sql::replay_catalogue::powers_warning;
use host::error::TargetError;
use model::Trial;
use workload::{SequenceState, SqlProgram, SqlWork};

impl<S: SqlServer> SqlServerInstance<S> {
    /// The instance, if its server takes the clients of `trial`, with what the server can do for them only slowly. What was made on an
    /// existing server is removed otherwise.
    pub(super) fn with_room_for(mut self, trial: &Trial) -> Result<Self, TargetError> {
        // Nothing has been made, so the state of its sequence is the first.
        let checked = if connect::is_connecting(trial) {
            Ok(Vec::new())
        } else {
            self.check_needs(trial, &program_of(trial, &SequenceState::default()))
        };
        match (checked, self.location) {
            (Ok(warnings), location) => {
                self.location = location;
                self.warnings = warnings;
                Ok(self)
            }
            (Err(error), DataLocation::External(external)) => Err(external.give_up(error)),
            (Err(error), DataLocation::Private(_)) => Err(error),
        }
    }

    /// Refuses clients of `trial` that the server would turn away in the middle of the start. Returns warnings.
    pub(super) fn check_needs(&self, trial: &Trial, program: &SqlProgram) -> Result<Vec<String>, TargetError> {
        let needs = ClientNeeds::of_program(trial, program, self.location.is_private());
        let mut warnings = S::check_needs(&needs, &|name| self.read_variable(name))?;
        if program.work == SqlWork::Replay && !program.writes && !self.location.is_private() {
            let words = &S::replay_words().catalogue;
            warnings.extend(powers_warning(&mut *self.admin.borrow_mut(), S::display_name(&self.address), words)?);
        }
        Ok(warnings)
    }
}
