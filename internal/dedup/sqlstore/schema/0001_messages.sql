-- One row is one message. The same text serves SQLite and PostgreSQL.
CREATE TABLE a2a_dedup_messages (
	id         BYTEA    NOT NULL PRIMARY KEY, -- SHA-256 of principal and messageId
	principal  TEXT     NOT NULL,             -- for people: cut, and made printable
	message_id TEXT     NOT NULL,             -- for people: cut, and made printable
	digest     TEXT     NOT NULL,             -- of the first copy's body
	owner      TEXT     NOT NULL,             -- the claim that holds the row while it is open
	lease      BIGINT   NOT NULL,             -- microseconds since 1970: the owner counts as gone from then on
	expires    BIGINT   NOT NULL,             -- microseconds since 1970: the row counts as absent from then on
	kind       SMALLINT NOT NULL,             -- of the outcome: 0 open, 1 task, 2 reply
	outcome    BYTEA    NOT NULL              -- the task's id, or the reply's JSON
);
CREATE INDEX a2a_dedup_messages_expires ON a2a_dedup_messages (expires);
