#!/bin/sh
# Measures one plan from several hosts: starts a bus with a password, the agents, and the run; shows the result, and ends what it started.
#
#   hosts.sh here   PLAN 2                 two agents on this machine, to try it
#   hosts.sh ssh    PLAN host1 host2       an agent on each host, over ssh
#   hosts.sh srun   PLAN 2 [OPTION...]     two tasks of Slurm, with these options of srun (as a batch job: sbatch --ntasks=2 hosts.sh srun PLAN 2)
#   hosts.sh mpirun PLAN 2 [OPTION...]     two processes of Open MPI, with these options of mpirun
#
# Each host needs the same `plimsoll` on its PATH, and this one `redis-server` or `valkey-server`. The exit code is that of `plimsoll run`.
#
# RUN_FLAGS     further flags of `plimsoll run`, such as `--time 30s`
# AGENT_FLAGS   further flags of `plimsoll agent`, such as `--dir /data`
# BUS_HOST      the name by which other hosts reach this one (srun, mpirun); the default is `hostname`
# BUS_PORT      the port of the bus; the default is 7379. With ssh it must be free on all hosts.
# SSH           how to call ssh, such as `ssh -p 2222`
# PLIMSOLL_PASSWORD   the password of the server that is measured, if it needs one
#
# The key of the run and the password of the bus are new each time. They travel in environments and on standard input, where other users
# cannot see them. With ssh the bus travels through ssh; with srun and mpirun it is not encrypted. The result is on stdout, the messages of bus
# and agents are on stderr.
set -eu

launcher=${1:?here, ssh, srun or mpirun} plan=${2:?a plan} port=${BUS_PORT:-7379}
shift 2
case $launcher in
here | ssh) listen=127.0.0.1 host=127.0.0.1 ;;
srun | mpirun) listen='*' host=${BUS_HOST:-$(hostname)} ;;
*) echo "hosts.sh: launcher \`$launcher\`: use here, ssh, srun or mpirun" >&2 && exit 2 ;;
esac
number=${1:?the number of agents, or hosts}
if [ "$launcher" = ssh ]; then number=$#; else shift; fi

random() { head -c 32 /dev/urandom | base64 | tr -d '\n'; }
PLIMSOLL_BUS_KEY=$(random) PLIMSOLL_BUS_PASSWORD=$(random) PLIMSOLL_BUS=redis://$host:$port/
PLIMSOLL_PASSWORD=${PLIMSOLL_PASSWORD-}
export PLIMSOLL_BUS_KEY PLIMSOLL_BUS_PASSWORD PLIMSOLL_BUS PLIMSOLL_PASSWORD

# In sessions of their own: Ctrl-C ends the run, and the run ends its agents.
server=$(command -v redis-server || command -v valkey-server) || { echo 'hosts.sh: redis-server is not installed' >&2 && exit 2; }
printf '%s\n' "bind $listen" "port $port" 'save ""' 'loglevel warning' "requirepass $PLIMSOLL_BUS_PASSWORD" | setsid "$server" - >&2 &
bus=$!
trap : INT
trap 'exit 143' TERM
trap 'kill ${agents-} $bus 2>/dev/null || :; wait' EXIT

agent="plimsoll agent --quiet --can load --runs plimsoll-agents ${AGENT_FLAGS-}"
agents=
case $launcher in
here)
    for nth in $(seq "$number"); do
        setsid $agent --name "here-$nth" >&2 &
        agents="$agents $!"
    done
    ;;
ssh)
    for host in "$@"; do
        printf '%s\n' "$PLIMSOLL_BUS_KEY" "$PLIMSOLL_BUS_PASSWORD" "$PLIMSOLL_PASSWORD" |
            setsid ${SSH:-ssh} -o ExitOnForwardFailure=yes -R "127.0.0.1:$port:127.0.0.1:$port" "$host" "
                read -r PLIMSOLL_BUS_KEY; read -r PLIMSOLL_BUS_PASSWORD; read -r PLIMSOLL_PASSWORD
                export PLIMSOLL_BUS_KEY PLIMSOLL_BUS_PASSWORD PLIMSOLL_PASSWORD PLIMSOLL_BUS=$PLIMSOLL_BUS
                exec $agent" >&2 &
        agents="$agents $!"
    done
    ;;
srun)
    setsid srun --export=ALL --ntasks="$number" "$@" $agent </dev/null >&2 &
    agents=$!
    ;;
mpirun)
    variables='-x PLIMSOLL_BUS -x PLIMSOLL_BUS_KEY -x PLIMSOLL_BUS_PASSWORD -x PLIMSOLL_PASSWORD'
    setsid mpirun -np "$number" $variables "$@" $agent </dev/null >&2 &
    agents=$!
    ;;
esac

status=0
plimsoll run "$plan" --agents "$number" ${RUN_FLAGS-} || status=$?
# Agents end with the run. Those that never heard of it are ended.
case $status in 2 | 3) grace=0 ;; *) grace=30 ;; esac
(sleep $grace && kill $agents) >/dev/null 2>&1 &
watchdog=$!
for one in $agents; do wait "$one" || :; done
kill $watchdog 2>/dev/null || :
exit $status
