"""Tools that go on working while the model goes on talking: the manager, its tasks, and the engines that run them."""

from toolhead.background.engine import Attempt, Attempted, Engine, Job, TaskCall, TaskState, TaskStatus, Topic, Work
from toolhead.background.local import LocalEngine
from toolhead.background.manager import BackgroundManager
from toolhead.background.task import BackgroundTask

__all__ = [
    "Attempt",
    "Attempted",
    "BackgroundManager",
    "BackgroundTask",
    "Engine",
    "Job",
    "LocalEngine",
    "TaskCall",
    "TaskState",
    "TaskStatus",
    "Topic",
    "Work",
]
