-- One row is one processed message. The same text serves SQLite and PostgreSQL.
CREATE TABLE a2a_seen (
	id      BYTEA  NOT NULL PRIMARY KEY, -- SHA-256 of the message's id
	expires BIGINT NOT NULL              -- microseconds since 1970: the row counts as absent from then on
);
CREATE INDEX a2a_seen_expires ON a2a_seen (expires);
