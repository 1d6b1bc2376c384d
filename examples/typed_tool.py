"""A tool from a typed function: the schema comes from its annotations, the descriptions from its docstring."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from toolhead import ValidationError, tool


@dataclass
class Room:
    """A room that can be booked."""

    name: str
    seats: int


@tool
async def find_rooms(city: str, seats: Annotated[int, Meta(ge=1, le=500)] = 10) -> list[Room]:
    """Find meeting rooms in a city.

    Args:
        city: The city to look in.
        seats: How many people must find a seat.
    """
    return [Room(f"{city} Hall", seats * 2)]


async def main() -> None:
    """Called as a function, and as a tool."""
    print(find_rooms.id, "-", find_rooms.description)
    print(find_rooms.input_json_schema)
    print(await find_rooms("Ghent"))
    print(await find_rooms.execute({"city": "Ghent", "seats": 25}))
    refused = await find_rooms.execute({"city": "Ghent", "seats": 0})
    print(isinstance(refused, ValidationError), refused)


asyncio.run(main())
