# SPDX-License-Identifier: MIT
"""A Slurm of one node on this machine: munged, slurmctld and slurmd of Debian's packages, with all of their files in one
folder, without systemd."""
import os
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

DAEMONS = ("munged", "slurmctld", "slurmd")
CLIENTS = ("sbatch", "squeue", "scancel", "scontrol")
CONFIGURATION = """\
ClusterName=orrery
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,sched_min_interval=0
ReturnToService=2
SlurmdTimeout={node_timeout}
MessageTimeout=2
InactiveLimit=0
KillWait=1
CompleteWait=0
MinJobAge=10
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=night Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def processes():
    """{process: its parent} of this machine."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            found[int(path.parent.name)] = int(path.read_text().rsplit(")", 1)[1].split()[1])
        except (OSError, IndexError):
            pass
    return found


class Unavailable(Exception):
    """Why no Slurm can be had here."""


class Cluster:
    """Begins with start_all(), which raises Unavailable if it cannot; `with cluster`: nothing of it runs afterwards."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.host = socket.gethostname().split(".")[0]
        self.environment = {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self.started = {}

    def __enter__(self):
        return self

    def start_all(self):
        if os.geteuid() != 0:
            raise Unavailable("only root starts munged, slurmctld and slurmd")
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        missing = [tool for tool in DAEMONS + CLIENTS if not shutil.which(tool)]
        if missing:
            raise Unavailable(f"{', '.join(missing)} missing (scripts/setup slurm-wlm munge)")
        try:
            self.prepare()
            self.start_munge()
            self.start_controller()
            self.start_node()
            self.wait("the node is idle", lambda: self.states() == {"idle"}, 20)
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()

    def prepare(self):
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in (self.folder.parent, self.folder):
            path.chmod(0o755)
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(
            host=self.host, folder=self.folder, controller_port=free_port(), node_port=free_port(), node_timeout=6))

    def start(self, name, command):
        log = open(self.folder / f"{name}.out", "ab")
        self.started[name] = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                              env={**os.environ, **self.environment}, start_new_session=True)
        log.close()

    def start_munge(self):
        place = {"socket": "munge.socket", "key-file": "munge.key", "pid-file": "munged.pid", "log-file": "munged.log",
                 "seed-file": "munged.seed"}
        self.start("munged", ["munged", "--foreground", "--force", "--num-threads=2"]
                   + [f"--{option}={self.folder / name}" for option, name in place.items()])
        self.wait("munge answers", lambda: subprocess.run(
            ["munge", "-n", "-S", str(self.folder / "munge.socket")], capture_output=True, check=False).returncode == 0, 5)

    def start_controller(self):
        self.start("slurmctld", ["slurmctld", "-D"])
        self.wait("slurmctld answers", lambda: self.call("scontrol", "ping").stdout.count(" is UP"), 15)

    def start_node(self):
        self.start("slurmd", ["slurmd", "-D"])

    def call(self, *command):
        return subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, **self.environment})

    def states(self):
        """Of the node, as sinfo has them; empty if the controller does not answer."""
        return {word.rstrip("*-") for word in self.call("sinfo", "-h", "-o", "%T").stdout.split()}

    def set_state(self, state):
        done = self.call("scontrol", "update", f"nodename={self.host}", f"state={state}", "reason=test")
        if done.returncode != 0:
            raise RuntimeError(done.stderr)

    def resume(self):
        """The node takes tasks again, whatever it was. Right after a start of slurmctld that may be refused at first."""
        def is_back():
            back = self.states() & {"idle", "mixed", "allocated", "completing", "planned"}
            return back or not self.call("scontrol", "update", f"nodename={self.host}", "state=resume")
        self.wait("the node is back", is_back, 20)

    def tasks(self):
        """[(job_index, state)] of what is queued or runs."""
        lines = self.call("squeue", "-h", "-r", "-o", "%F_%K %T").stdout.splitlines()
        return [tuple(line.split()) for line in lines]

    def wait(self, what, holds, seconds):
        end = time.monotonic() + seconds
        while not holds():
            dead = [name for name, process in self.started.items() if process.poll() is not None]
            if dead or time.monotonic() > end:
                words = "\n".join(self.tail(name) for name in self.started)
                raise Unavailable(f"{', '.join(dead) + ' ended' if dead else 'not within ' + str(seconds) + ' s'}: {what}\n{words}")
            time.sleep(0.05)

    def tail(self, name):
        text = ""
        for path in (self.folder / f"{name}.out", self.folder / f"{name}.log"):
            if path.exists():
                text += path.read_text(errors="replace")
        return "\n".join(f"    {name}: {line}" for line in text.splitlines()[-8:])

    def below(self, process):
        """The process and those that it started, also the steps of jobs, which leave slurmd's session."""
        parents, found = processes(), [process]
        for one in found:
            found += [child for child, parent in parents.items() if parent == one]
        return found

    def kill(self, name):
        """What a crash of it does: SIGKILL to it; with slurmd, to all that runs on the node."""
        process = self.started.pop(name, None)
        if process is None:
            return
        victims = self.below(process.pid)
        if name == "slurmd":
            victims += [one for step in self.steps() for one in self.below(step)]
        for victim in victims:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                pass
        process.wait()

    def end(self, name):
        """As its service is stopped: it keeps what it knows."""
        process = self.started.pop(name)
        process.terminate()
        process.wait(timeout=20)

    def steps(self):
        """slurmstepd of this node: those that know its configuration."""
        found = []
        for path in Path("/proc").glob("[0-9]*/environ"):
            try:
                if (path.parent / "comm").read_text().strip().startswith("slurmstepd") \
                        and os.fsencode(f"SLURM_CONF={self.environment['SLURM_CONF']}") in path.read_bytes().split(b"\0"):
                    found.append(int(path.parent.name))
            except OSError:
                pass
        return found

    def stop(self):
        for name in reversed(DAEMONS):
            self.kill(name)
