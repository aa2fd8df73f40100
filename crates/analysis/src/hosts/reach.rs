//! What a counter of another host is to a point: the point's own, a part of a sum, or that host's alone.
//!
//! In: the role of a counter. Out: its [`Reach`]. Limits: a role that is new has to be put here; the compiler asks for it.

use model::{CounterRole, HostRole, ThreadOf};

/// On which hosts a counter of a role is one of the point as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// The engine's own account: the same wherever it is read.
    Engine,
    /// Of machines on which the database runs; a sum over them means something: CPU time and bytes of the engine.
    Database,
    /// Of one machine on which the database runs; a sum over several means nothing: how busy its CPUs and its disk are,
    /// waits for memory.
    DatabaseMachine,
    /// Of machines on which clients run; a sum over them means something: bytes sent, retransmissions.
    Clients,
    /// Of the host alone.
    Host,
}

impl Reach {
    /// The reach of `role`.
    #[expect(clippy::too_many_lines, reason = "a table: every role has its place")]
    pub fn of(role: CounterRole) -> Reach {
        use CounterRole as Role;
        match role {
            Role::ThreadTime(ThreadOf::Client, _) | Role::ThreadLooks(ThreadOf::Client) => Reach::Clients,
            Role::ThreadTime(ThreadOf::Engine, _)
            | Role::ThreadLooks(ThreadOf::Engine)
            | Role::EngineCpuUser
            | Role::EngineCpuSystem
            | Role::EngineContextSwitches
            | Role::ProcessReadBytes
            | Role::ProcessWriteBytes
            | Role::IoDelay
            | Role::MachineEnergy
            | Role::ThreadWatchCpu
            | Role::ListenOverflows
            | Role::ListenDrops
            | Role::SynQueueDrops => Reach::Database,
            Role::MachineCpuUser
            | Role::MachineCpuSystem
            | Role::MachineCpuSoftirq
            | Role::MachineCpuIowait
            | Role::MachineCpuSteal
            | Role::MachineCpuIdle
            | Role::PlimsollCpu
            | Role::KernelThreadsCpu
            | Role::MachineDirtiedBytes
            | Role::MachineWriteBytes
            | Role::DeviceReadOps
            | Role::DeviceWriteOps
            | Role::DeviceFlushOps
            | Role::DeviceReadBytes
            | Role::DeviceWriteBytes
            | Role::DeviceBusy
            | Role::DeviceQueue
            | Role::LimitedReadOps
            | Role::LimitedWriteOps
            | Role::LimitedReadBytes
            | Role::LimitedWriteBytes
            | Role::SwapIn
            | Role::SwapOut
            | Role::Refaults
            | Role::MemoryAvailable
            | Role::MemoryStall
            | Role::CpuPressure
            | Role::IoStall
            | Role::EngineQuotaThrottled
            | Role::EngineQuotaPeriods
            | Role::EngineQuota
            | Role::ThermalThrottles
            | Role::CpuFrequency
            | Role::EngineStopped => Reach::DatabaseMachine,
            Role::TcpTimeouts
            | Role::SynRetransmits
            | Role::TcpRetransmits
            | Role::TcpSegmentsSent
            | Role::NetworkReceivedBytes
            | Role::NetworkSentBytes
            | Role::NetworkReceivedPackets
            | Role::NetworkSentPackets
            | Role::NetworkDrops
            | Role::EndpointDown
            | Role::Retries
            | Role::EndpointReconnects
            | Role::WriterTurnTime => Reach::Clients,
            Role::LinkSpeed | Role::Quota | Role::QuotaThrottled | Role::QuotaPeriods => Reach::Host,
            Role::ThreadTime(ThreadOf::Session, _)
            | Role::ThreadLooks(ThreadOf::Session)
            | Role::RefusedConnections
            | Role::Connections
            | Role::ConnectionsMax
            | Role::BusyConnections
            | Role::EngineRead
            | Role::LogWritten
            | Role::LogMade
            | Role::PagesWritten
            | Role::DoublewriteWritten
            | Role::DataFilesWritten
            | Role::CompactionWritten
            | Role::DirtyPages
            | Role::Memtable
            | Role::PendingCompaction
            | Role::LogAge
            | Role::LogAgeMax
            | Role::HistoryLength
            | Role::CacheHits
            | Role::CacheMisses
            | Role::FullMemtables
            | Role::UnsortedTables
            | Role::WritersHeld
            | Role::WritersHeldFor(_)
            | Role::EngineStatements
            | Role::EngineTransactions
            | Role::FreePageWaits
            | Role::LogBufferWaits
            | Role::RowLockWaits
            | Role::Checkpoints
            | Role::LogHoldingData
            | Role::RowLockTime
            | Role::EngineWait(_)
            | Role::ReplicatedBytes
            | Role::ReplicatedBytesReceived
            | Role::FlowControlPaused
            | Role::FlowControlSent
            | Role::CertificationFailures
            | Role::ReplicationAborts
            | Role::ApplyParallelism
            | Role::ReceiveQueue
            | Role::SendQueue
            | Role::ReplicationLatency
            | Role::ReplicaLag
            | Role::ReplicaDelay
            | Role::StatementCalls
            | Role::StatementTime => Reach::Engine,
        }
    }

    /// Whether a counter of this reach is the point's if a host with this role reads it; `None` is the recorder, which has no part in the
    /// point. So many hosts run the database.
    pub fn is_of_point(self, host: Option<HostRole>, databases: usize) -> bool {
        match self {
            Reach::Engine => true,
            Reach::Database => host.is_some_and(HostRole::observes),
            Reach::DatabaseMachine => host.is_some_and(HostRole::observes) && databases == 1,
            Reach::Clients => host.is_some_and(HostRole::loads),
            Reach::Host => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_that_of_the_point_only_if_one_host_runs_the_database_and_cpu_time_adds_up() {
        let is_of_point = |role, host, databases| Reach::of(role).is_of_point(host, databases);
        let (busy, cpu) = (CounterRole::DeviceBusy, CounterRole::EngineCpuUser);
        assert!(is_of_point(busy, Some(HostRole::Observe), 1) && !is_of_point(busy, Some(HostRole::Observe), 2));
        assert!(is_of_point(cpu, Some(HostRole::LoadAndObserve), 2) && !is_of_point(cpu, Some(HostRole::Load), 1));
        assert!(is_of_point(CounterRole::NetworkSentBytes, Some(HostRole::Load), 1));
        assert!(!is_of_point(CounterRole::NetworkSentBytes, None, 1) && is_of_point(CounterRole::LogAge, None, 0));
    }
}
