CREATE TABLE outbox (
  _id         TEXT PRIMARY KEY NOT NULL,
  topic       TEXT NOT NULL,
  payload     TEXT,
  headers     TEXT,
  key         TEXT,
  ts          INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)),
  status      TEXT NOT NULL DEFAULT 'pending',
  attempts    INTEGER NOT NULL DEFAULT 0,
  claimed_by  TEXT,
  lease_until INTEGER,
  last_err    TEXT,
  sent_at     INTEGER
);
CREATE INDEX outbox_pending ON outbox (ts, _id) WHERE status = 'pending';
CREATE INDEX outbox_failing ON outbox (ts, _id) WHERE last_err IS NOT NULL;
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE status = 'sent';

CREATE TABLE outbox_claims (
  _id         TEXT PRIMARY KEY NOT NULL,
  claimed_by  TEXT,
  lease_until INTEGER NOT NULL DEFAULT 0
);
