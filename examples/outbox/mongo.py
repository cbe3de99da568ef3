"""Writes an order and its event in one transaction, with MongoDB's own driver: python mongo.py MONGODB_URL ORDER"""

import sys
import time
import uuid

from pymongo import MongoClient

url, order = sys.argv[1:3]
client = MongoClient(url)
shop = client.get_default_database()


def now_ms():
    return time.time_ns() // 1_000_000


def place(session):
    shop.orders.insert_one({"_id": order, "state": "placed"}, session=session)
    row = {
        "_id": str(uuid.uuid4()),
        "topic": "orders.placed",
        "key": order,
        "payload": {"order": order, "from": "python"},
        "headers": {"x-source": "shop"},
        "status": "pending",
        "ts": now_ms(),
    }
    shop.outbox.insert_one(row, session=session)


with client.start_session() as session:
    session.with_transaction(place)

# Without a transaction: the event is an element of the document that it is about.
event = {
    "_id": str(uuid.uuid4()),
    "topic": "carts.closed",
    "payload": {"order": order, "from": "python"},
    "ts": now_ms(),
}
shop.carts.update_one({"_id": order}, {"$set": {"state": "closed"}, "$push": {"events": event}}, upsert=True)
client.close()
