"""Writes an order and its event in one transaction, with psycopg: python postgres.py POSTGRES_URL ORDER"""

import sys

import psycopg
from psycopg.types.json import Json

url, order = sys.argv[1:3]
# The block is one transaction: committed at its end, rolled back by an error.
with psycopg.connect(url) as connection:
    connection.execute("INSERT INTO orders (id, state) VALUES (%s, 'placed')", [order])
    connection.execute(
        "INSERT INTO outbox (topic, key, payload, headers) VALUES (%s, %s, %s, %s)",
        ["orders.placed", order, Json({"order": order, "from": "python"}), Json({"x-source": "shop"})],
    )
