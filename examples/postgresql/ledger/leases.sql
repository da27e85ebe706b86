CREATE TABLE IF NOT EXISTS leases (
    key bigint PRIMARY KEY,
    token bigint NOT NULL,
    ends timestamptz NOT NULL
);
