"""Tests are skipped if the machine refuses a part that they need; they fail for other errors."""

import pytest
import support

NO_TUN = "cannot open /dev/net/tun: No such file or directory (os error 2)"
NO_DEVICE = f"{NO_TUN}, and no veth pair (cannot add the device); load the module `tun` or `veth`"


@pytest.mark.parametrize(
    "said",
    [
        "cannot create a network namespace: Operation not permitted (os error 1); run as root",
        "sojourn: cannot create a user namespace: too many exist; run as root\n",
        "flow `bulk`: the kernel has no congestion controller `dctcp`; it has reno, cubic",
        "the kernel or `tc` lacks netem; load the modules with `modprobe`",
        "`tc` is missing; install iproute2",
        "this build of Sojourn cannot load controllers into the kernel, because libbpf was not",
        "only root, outside user namespaces, can load, list and unload controllers of the kernel",
        "note: the kernel sends ECT(0)\nsojourn: this kernel cannot load controllers: it lacks X",
    ],
)
def test_a_refusal_by_the_machine_leaves_a_test_out(said: str) -> None:
    with pytest.raises(pytest.skip.Exception):
        support.leave_out_live(said)


def test_a_machine_without_devices_leaves_a_test_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "TUN", support.TUN / "absent")
    with pytest.raises(pytest.skip.Exception):
        support.leave_out_live(NO_DEVICE.replace("tun:", "tun/absent:"))


@pytest.mark.parametrize(
    "said",
    [
        "a thread of the run ended unexpectedly: bottleneck; this is a fault in Sojourn, please "
        "report it",
        "flow `bulk`: cannot connect: Connection refused (os error 111)",
        "flow `bulk`: the kernel refuses `sojourn_lola`: R1 invalid mem access; Sojourn's "
        "controllers need Linux 6.12 or later",
        "cannot set the MTU in the run's namespace: Invalid argument; run as root",
        NO_TUN,
        'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\nKeyError: "lacks"',
        "",
    ],
)
def test_any_other_error_fails_a_test(said: str) -> None:
    with pytest.raises(pytest.fail.Exception):
        support.leave_out_live(said)
