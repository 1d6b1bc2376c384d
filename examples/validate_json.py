"""The validation core by itself: one compiled schema over Python objects and over JSON text."""

from toolhead import DecodeError, ValidationError, Validator

order = Validator(
    {
        "type": "object",
        "properties": {
            "id": {"type": "string", "format": "uuid"},
            "total": {"type": "number", "multipleOf": 0.01},
            "currency": {"enum": ["EUR", "USD"], "default": "EUR"},
        },
        "required": ["id", "total"],
    }
)

TEXT = '{"id": "123e4567-e89b-42d3-a456-426614174000", "total": 10.10}'
print(order.is_valid_json(TEXT), order.decode(TEXT))

for text in ('{"id": "4711", "total": 10.101}', '{"id": '):
    try:
        order.decode(text)
    except ValidationError as error:
        print(error)
    except DecodeError as error:
        print(error.offset, error.is_incomplete, error)

for issue in order.issues({"id": 4711, "total": "a lot"}):
    print(issue.path, issue.keyword, issue.message)
