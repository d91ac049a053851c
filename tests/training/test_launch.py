import sys

from sonde.training.launch import command, environment, needs_launch, rank, run
from tests.training.test_plan import plan


def test_one_process_needs_no_launch_and_a_launched_one_does_not_launch_again() -> None:
    assert not needs_launch(plan("smollm2-cpu"), {})
    assert needs_launch(plan("9b-fsdp-l0-50"), {})
    assert not needs_launch(plan("9b-fsdp-l0-50"), {"LOCAL_RANK": "0"})


def test_sharded_presets_go_through_accelerate() -> None:
    found = command(plan("27b-fsdp-l0-100"), ["--policy-preset", "27b-fsdp-l0-100"])
    assert "accelerate.commands.launch" in found
    assert "--num_processes=6" in found
    assert "--use_fsdp" in found
    assert found[-5:] == ["-m", "sonde", "train", "--policy-preset", "27b-fsdp-l0-100"]


def test_the_rest_goes_through_torch() -> None:
    chosen = plan("smollm2-cpu", processes=2)
    assert "--nproc_per_node=2" in command(chosen, [])
    told = environment(chosen, {"HOME": "/h"}, 1)
    assert told == {"HOME": "/h", "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}


def test_only_the_first_process_speaks() -> None:
    assert rank({}) == 0
    assert rank({"RANK": "3"}) == 3


def test_the_status_of_the_processes_is_passed_on() -> None:
    program = "import os, sys; sys.exit(int(os.environ['STATUS']))"
    assert run([sys.executable, "-c", program], {"STATUS": "3"}) == 3
