"""The OpenAI Agents SDK, two jobs in one group."""

from agents import RunConfig, Runner, SQLiteSession
from agents_sdk import agent
from shop import asked


def main():
    task, model = asked()
    config = RunConfig(group_id=f"group of {task}")
    session = SQLiteSession("one")
    for words in (task, "Thank you."):
        print(Runner.run_sync(agent(model), words, session=session, run_config=config).final_output)


if __name__ == "__main__":
    main()
