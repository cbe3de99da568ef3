CREATE TABLE outbox (
  _id         text COLLATE "C" PRIMARY KEY DEFAULT gen_random_uuid()::text,
  topic       text NOT NULL,
  payload     json,
  headers     json,
  key         text COLLATE "C",
  ts          bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000)::bigint,
  status      text NOT NULL DEFAULT 'pending',
  attempts    integer NOT NULL DEFAULT 0,
  claimed_by  text,
  lease_until bigint,
  last_err    text,
  sent_at     bigint,
  tx          xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX outbox_pending ON outbox (ts, _id) WHERE status = 'pending';
CREATE INDEX outbox_arrived ON outbox (tx) WHERE status = 'pending';
CREATE INDEX outbox_failing ON outbox (ts, _id) WHERE last_err IS NOT NULL;
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE status = 'sent';

CREATE TABLE outbox_claims (
  _id         text PRIMARY KEY,
  claimed_by  text,
  lease_until bigint NOT NULL DEFAULT 0
);
