from tests.instrumentation.sink import run


def test_without_the_evaluators_the_command_names_what_to_install() -> None:
    done = run(
        "import sys\nsys.modules['click'] = None\nfrom spanproof_instrumentation.__main__ import main\nsys.exit(main())"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "the command line needs the extra [all]: pip install 'spanproof[all]'\n"
