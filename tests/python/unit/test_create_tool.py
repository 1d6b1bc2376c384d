"""What `create_tool` accepts, keeps and refuses."""

import copy
import functools
import pickle

import pytest

from toolhead import SchemaError, Tool, ToolNotExecutableError, create_tool
from toolhead.tool_options import DEFAULTS

INPUT = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}


def body(value):
    return value


def predicate(value, context):
    return True


def hook(event):
    return None


def made(**options):
    return create_tool(**{"id": "t", "description": "A tool.", **options})


def test_every_option_is_an_attribute():
    options = {
        "title": "T",
        "input_schema": INPUT,
        "output_schema": {"type": "integer"},
        "suspend_schema": True,
        "resume_schema": "{}",
        "request_context_schema": {"type": "object"},
        "strict": True,
        "require_approval": predicate,
        "to_model_output": body,
        "transform": {"display": {"input": hook}},
        "mcp": {"annotations": {"readOnlyHint": True, "title": "x"}, "_meta": {"k": 1}},
        "provider_options": {"openai": {"x": 1}},
        "input_examples": [{"a": 1}],
        "background": {"enabled": True, "max_retries": 2},
        **dict.fromkeys(["on_input_start", "on_input_delta", "on_input_available"], hook),
        **dict.fromkeys(["on_output", "on_error", "on_suspend"], hook),
        "repair_input": False,
        "run_sync_in": "inline",
        "timeout": 2,
        "grace": 0,
        "dialect": "draft7",
        "registry": {},
        "formats": False,
        "limits": None,
        "redact": ["pin"],
        "show_data": False,
    }
    assert set(options) | {"execute"} == set(DEFAULTS)
    tool = made(execute=body, **options)
    converted = {"transform", "mcp", "background", "input_examples", "redact"}
    for option, value in options.items():
        if option not in converted:
            assert getattr(tool, option) is value, option
    assert tool.function is body
    assert tool.can_execute
    assert tool.transform.display.input is hook
    assert tool.transform.transcript is None
    assert tool.mcp.annotations.read_only_hint is True
    assert tool.mcp.annotations.destructive_hint is None
    assert tool.mcp.meta == {"k": 1}
    assert tool.background.max_retries == 2
    assert tool.background.default_disposition == "deferred"
    assert tool.input_examples == ({"a": 1},)
    assert tool.redact == ("pin",)


def test_defaults():
    tool = made()
    for option, value in DEFAULTS.items():
        if option != "execute":
            assert getattr(tool, option) == value, option
    assert tool.function is None
    assert not tool.can_execute
    assert tool.input_json_schema is None


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"id": ""}, ValueError, "id: expected 1 to 128"),
        ({"id": "a b"}, ValueError, "id: expected"),
        ({"id": "x" * 129}, ValueError, "id: expected"),
        ({"id": "né"}, ValueError, "id: expected"),
        ({"id": "a\n"}, ValueError, "id: expected"),
        ({"id": 5}, TypeError, "id: expected str, got int"),
        ({"description": " "}, ValueError, "description: expected a text"),
        ({"description": None}, TypeError, "description: expected str"),
        ({"title": 1}, TypeError, "title: expected str or None"),
        ({"input_schema": {"type": "nonsense"}}, SchemaError, "^input_schema: "),
        ({"output_schema": 5}, SchemaError, "^output_schema: expected a JSON Schema"),
        ({"suspend_schema": "a plain string"}, SchemaError, "^suspend_schema: the text is not JSON"),
        ({"resume_schema": [1]}, SchemaError, "^resume_schema: expected"),
        ({"request_context_schema": lambda: 1}, SchemaError, "^request_context_schema: expected"),
        ({"execute": 5}, TypeError, "execute: expected .*, got int"),
        ({"execute": dict}, TypeError, "execute: expected"),
        ({"execute": lambda: 1}, TypeError, "execute: expected"),
        ({"execute": lambda a, b, c: 1}, TypeError, "execute: .*3 required"),
        ({"execute": lambda context: 1}, TypeError, "execute: .*before version 1"),
        ({"execute": lambda *, a, b=1: 1}, TypeError, "execute: .*before version 1"),
        ({"execute": lambda *, context: 1}, TypeError, "execute: .*before version 1"),
        ({"execute": lambda a, *, b: 1}, TypeError, "execute: .*keyword-only parameter 'b'"),
        ({"execute": lambda a, runtime_context: 1}, TypeError, "runtime_context"),
        ({"runtime_context": 1}, TypeError, "runtime_context: no such option; it is called request_context"),
        ({"runtimeContext": 1}, TypeError, "runtimeContext: no such option; it is called request_context"),
        ({"inputSchema": {}}, TypeError, "inputSchema: no such option; it is called input_schema"),
        ({"toModelOutput": body}, TypeError, "toModelOutput: .*to_model_output"),
        ({"nonsense": 1}, TypeError, "nonsense: no such option$"),
        ({"strict": 1}, TypeError, "strict: expected bool or None"),
        ({"require_approval": "yes"}, TypeError, "require_approval: expected a bool or"),
        ({"require_approval": body}, TypeError, "require_approval: .*2 argument"),
        ({"to_model_output": 1}, TypeError, "to_model_output: expected"),
        ({"to_model_output": lambda: 1}, TypeError, "to_model_output: .*1 argument"),
        ({"on_output": lambda a, b: 1}, TypeError, "on_output: expected"),
        ({"on_error": 1}, TypeError, "on_error: expected"),
        ({"transform": {"screen": {}}}, TypeError, "transform: unknown key 'screen'"),
        ({"transform": {"display": {"inputDelta": hook}}}, TypeError, "transform.display: unknown key 'inputDelta'"),
        ({"transform": {"display": {"input": 1}}}, TypeError, "transform.display.input: expected"),
        ({"transform": 1}, TypeError, "transform: expected"),
        ({"mcp": {"nope": 1}}, TypeError, "mcp: unknown key 'nope'"),
        ({"mcp": {"annotations": {"readonly": True}}}, TypeError, "mcp.annotations: unknown key"),
        ({"mcp": {"annotations": {"readOnlyHint": "yes"}}}, TypeError, "mcp.annotations.read_only_hint: expected bool"),
        ({"mcp": {"_meta": 1}}, TypeError, "mcp._meta: expected a mapping"),
        ({"provider_options": []}, TypeError, "provider_options: expected"),
        ({"input_examples": {"a": 1}}, TypeError, "input_examples: expected a list"),
        ({"input_schema": INPUT, "input_examples": [{"a": 1}, {"a": "x"}]}, ValueError, "input_examples.1: does not"),
        ({"background": {"enable": True}}, TypeError, "background: unknown key 'enable'"),
        ({"background": {"default_disposition": "later"}}, ValueError, "background.default_disposition: expected"),
        ({"background": {"timeout": -1}}, ValueError, "background.timeout: expected"),
        ({"background": {"max_retries": -1}}, ValueError, "background.max_retries: expected"),
        ({"background": {"on_complete": 1}}, TypeError, "background.on_complete: expected"),
        ({"repair_input": None}, TypeError, "repair_input: expected bool"),
        ({"run_sync_in": "process"}, ValueError, "run_sync_in: expected 'thread' or 'inline'"),
        ({"timeout": 0}, ValueError, "timeout: expected more than 0"),
        ({"timeout": "5"}, TypeError, "timeout: expected seconds"),
        ({"timeout": float("nan")}, ValueError, "timeout: expected"),
        ({"grace": -1}, ValueError, "grace: expected 0 or more"),
        ({"redact": "pin"}, TypeError, "redact: expected"),
        ({"show_data": 0}, TypeError, "show_data: expected bool"),
    ],
)
def test_refusals_name_the_option(options, error, text):
    with pytest.raises(error, match=text):
        made(**options)


def test_id_and_description_are_required():
    with pytest.raises(TypeError, match="id: is required"):
        create_tool(description="d")
    with pytest.raises(TypeError, match="description: is required"):
        create_tool(id="t")


def test_generators_are_refused():
    def generator(value):
        yield value

    async def async_generator(value):
        yield value

    for execute in (generator, async_generator):
        with pytest.raises(TypeError, match="generator function"):
            made(execute=execute)


def test_bodies_of_every_kind():
    class Callable:
        def __call__(self, value, context):
            return value

        def method(self, value):
            return value

    for execute in (
        body,
        lambda value, context=None: value,
        Callable(),
        Callable().method,
        functools.partial(lambda prefix, value: value, "p"),
        lambda *args: args[0],
    ):
        assert made(execute=execute).execute_sync(5) == 5
    assert made(execute=len).execute_sync("abc") == 3


def test_immutable():
    tool = made()
    for name in ("id", "input_schema", "anything"):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(tool, name, 1)
    with pytest.raises(AttributeError):
        del tool.id
    assert copy.copy(tool) is tool
    assert copy.deepcopy(tool) is tool


def test_what_the_caller_does_to_its_schema_later_changes_nothing():
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    tool = made(input_schema=schema, execute=body)
    schema["properties"]["a"]["type"] = "string"
    assert tool.execute_sync({"a": 1}) == {"a": 1}
    assert tool.input_json_schema["properties"]["a"]["type"] == "integer"


def test_replace_gives_a_checked_copy():
    tool = made(input_schema=INPUT, execute=body)
    changed = tool.replace(description="Other.", input_schema=None)
    assert (tool.description, changed.description) == ("A tool.", "Other.")
    assert changed.execute_sync("x") == "x"
    assert changed.id == tool.id
    with pytest.raises(TypeError, match="timeout"):
        tool.replace(timeout="x")


def test_pickles_when_its_callables_do():
    tool = made(input_schema=INPUT, execute=body, require_approval=predicate, redact=["pin"])
    again = pickle.loads(pickle.dumps(tool))
    assert again.execute_sync({"a": 1}) == {"a": 1}
    assert (again.id, again.redact, again.require_approval) == ("t", ("pin",), predicate)
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(made(execute=lambda value: value))


def test_repr_is_readable():
    assert repr(made()) == "Tool(id='t', definition only)"
    assert repr(made(execute=body, input_schema=INPUT)) == "Tool(id='t', sync, input_schema=...)"


async def test_a_definition_cannot_be_called():
    tool = made(input_schema=INPUT)
    for call in (tool.execute({"a": 1}), tool.execute_json('{"a": 1}'), tool.execute({"a": 1}, {})):
        with pytest.raises(ToolNotExecutableError, match="no execute") as raised:
            await call
        assert raised.value.tool_id == "t"
    with pytest.raises(ToolNotExecutableError):
        tool.execute_sync({"a": 1})


def test_generic():
    assert Tool[int, str] is not None
    assert isinstance(made(), Tool)


def test_the_module_and_the_decorator_share_a_name():
    import toolhead.tool

    assert callable(toolhead.tool)
