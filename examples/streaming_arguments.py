"""Arguments read while they arrive: what is certain so far, what changed, and when they can no longer become valid."""

from toolhead import InputStream, ValidationError, Validator

DRAFT = Validator(
    {
        "type": "object",
        "properties": {"subject": {"type": "string", "maxLength": 40}, "body": {"type": "string"}},
        "required": ["subject", "body"],
        "additionalProperties": False,
    }
)


def read(deltas: list[str]) -> None:
    """Push the deltas one by one and show what each brought."""
    stream = InputStream(DRAFT)
    for delta in deltas:
        state = stream.push(delta)
        for change in stream.changes():
            print(f"{state}  {change}")
    try:
        print("done:", stream.finish())
    except ValidationError as error:
        print("refused:", [(issue.pointer, issue.keyword) for issue in error.issues])


read(['{"subject": "Lun', 'ch?", "bo', 'dy": "At noon, by the ', 'fountain."}'])
read(['{"subject": "Lunch?", "bcc', '": "everybody", ', '"body": "At noon."}'])
