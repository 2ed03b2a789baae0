#!/bin/bash
# usage: with_slurm.sh TASKS COMMAND...     as root: a Slurm of one node on this machine (packages
# slurm-wlm and munge), for as long as COMMAND runs in it. Exit 77 where there is none.
set -euo pipefail
tasks=$1
shift
for program in slurmctld slurmd srun munged; do
  command -v "$program" > /dev/null || { echo "skipped: $program is not installed"; exit 77; }
done
((EUID == 0)) || { echo 'skipped: only root starts Slurm'; exit 77; }
work=$(mktemp -d)
chmod 755 "$work"
node=$(hostname -s)
stop() {
  local file
  for file in "$work"/slurmd.pid "$work"/slurmctld.pid "$work"/munged.pid; do
    [[ ! -s $file ]] || kill "$(< "$file")" 2> /dev/null || true
  done
  sleep 1
  rm -rf -- "$work"
}
trap stop EXIT

install -d -o munge -g munge -m 755 "$work/munge"
runuser -u munge -- munged --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
  --log-file="$work/munge/log" --seed-file="$work/munge/seed"
ln -s munge/pid "$work/munged.pid"
mkdir "$work/state" "$work/spool"
cat > "$work/slurm.conf" <<EOF
ClusterName=here
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
ReturnToService=2
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
SlurmctldPort=16817
SlurmdPort=16818
NodeName=$node NodeAddr=127.0.0.1 CPUs=$tasks Boards=1 SocketsPerBoard=1 CoresPerSocket=$tasks ThreadsPerCore=1 RealMemory=1000
PartitionName=all Nodes=ALL Default=YES State=UP
EOF
# More slots than the machine has cores.
echo 'SlurmdParameters=config_overrides' >> "$work/slurm.conf"
export SLURM_CONF=$work/slurm.conf
slurmctld -i -f "$SLURM_CONF"
slurmd -f "$SLURM_CONF"
for _ in {1..60}; do
  [[ $(sinfo -h -o %t 2> /dev/null) != idle ]] || break
  sleep 1
done
if [[ $(sinfo -h -o %t) != idle ]]; then
  tail -n 20 "$work"/slurm*.log >&2
  exit 1
fi
"$@"
