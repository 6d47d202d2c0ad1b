-- +goose NO TRANSACTION
-- Searching folds letters alike in the texts and in what is searched for, and finds parts of texts that are written without spaces.
-- The house goes on meanwhile: a new column is empty at first, a trigger fills it, and old rows are filled a few at a time. The
-- column "search" stays for nodes of the version before, which read it until they are replaced.
-- Every statement may be repeated, should the migration break off.

-- +goose Up

-- +goose StatementBegin
-- fold_text is a text without case, accents and other differences that people leave out when they search: "Inês", "INES" and "ines"
-- are the same. Japanese voicing marks stay, because they make other letters. Latin letters with a stroke do not decompose. ASCII, in which every
-- character has one byte, needs no more than lower case.
CREATE OR REPLACE FUNCTION fold_text(written text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT CASE WHEN octet_length(written) = char_length(written) THEN lower(written) ELSE normalize(regexp_replace(
        translate(replace(replace(replace(replace(lower(normalize(written, NFKD)), 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th'),
            'đðøłħıς', 'ddolhiσ'),
        '[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff\u200b-\u200f\u20d0-\u20ff\ufe00-\ufe0f\ufe20-\ufe2f]',
        '', 'g'), NFC) END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
-- unspaced_pairs are the pairs of neighbours in those stretches of a folded text that are written without spaces between words, and
-- the last character of each stretch: 時計店 is 時計, 計店 and 店.
CREATE OR REPLACE FUNCTION unspaced_pairs(folded text) RETURNS SETOF text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT ROWS 20 AS $$
    SELECT letter.c || coalesce(lead(letter.c) OVER (PARTITION BY stretch.n ORDER BY letter.n), '')
    FROM regexp_matches(folded, '[\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ecd\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+', 'g')
            WITH ORDINALITY AS stretch (found, n),
        unnest(string_to_array(stretch.found[1], NULL)) WITH ORDINALITY AS letter (c, n)
$$;
-- +goose StatementEnd

-- +goose StatementBegin
-- spaced_part is what is left of a folded text without those stretches.
CREATE OR REPLACE FUNCTION spaced_part(folded text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    SELECT btrim(regexp_replace(folded, '[\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0ecd\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]+', ' ', 'g'))
$$;
-- +goose StatementEnd

-- +goose StatementBegin
-- lot_words is what a lot is found by.
CREATE OR REPLACE FUNCTION lot_words(title text, description text) RETURNS tsvector LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE STRICT COST 1000 AS $$
DECLARE
    folded text := fold_text(title || E'\n' || description);
BEGIN
    IF octet_length(folded) = char_length(folded) THEN
        RETURN to_tsvector('simple', folded);
    END IF;
    RETURN to_tsvector('simple', spaced_part(folded) || ' ' || coalesce((SELECT string_agg(pair, ' ') FROM unspaced_pairs(folded) AS pair), ''));
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
-- lot_query matches the lots in which every word occurs, at least as a beginning. The plural of an English noun is searched for as its
-- singular, of which it is a longer form. A single letter must be a word of its own: too many lots have a word that begins with it.
CREATE OR REPLACE FUNCTION lot_query(words text[]) RETURNS tsquery LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT AS $$
    WITH folded AS (SELECT fold_text(typed) AS word FROM unnest(words) AS typed),
    spaced AS (SELECT part FROM folded, spaced_part(word) AS part WHERE part <> ''),
    terms AS (
        SELECT CASE WHEN part ~ '^[a-z]{4,}ies$' THEN left(part, -3)
                    WHEN part ~ '^[a-z]+(ch|sh|x|z|ss)es$' THEN left(part, -2)
                    WHEN part ~ '^[a-z]{2,}[^isu]s$' THEN left(part, -1)
                    ELSE part END AS term, char_length(part) > 1 AS as_beginning
        FROM spaced
        UNION ALL
        -- The last character of a stretch adds nothing to the pair before it.
        SELECT pair, char_length(pair) = 1 FROM folded, unspaced_pairs(word) AS pair
        WHERE char_length(pair) = 2 OR char_length(word) = 1 OR spaced_part(word) <> '')
    SELECT to_tsquery('simple', coalesce(string_agg(
        '''' || replace(replace(term, '\', '\\'), '''', '''''') || '''' || CASE WHEN as_beginning THEN ':*' ELSE '' END, ' & '), ''))
    FROM terms
$$;
-- +goose StatementEnd

ALTER TABLE lots ADD COLUMN IF NOT EXISTS words tsvector;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION lots_fill_words() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.words := lot_words(NEW.title, NEW.description);
    RETURN NEW;
END
$$;
-- +goose StatementEnd

CREATE OR REPLACE TRIGGER lots_words BEFORE INSERT OR UPDATE OF title, description ON lots FOR EACH ROW EXECUTE FUNCTION lots_fill_words();

-- +goose StatementBegin
DO $$
DECLARE
    last_id bigint := 0;
BEGIN
    LOOP
        WITH batch AS (SELECT auction_id FROM lots WHERE auction_id > last_id ORDER BY auction_id LIMIT 1000),
        filled AS (UPDATE lots SET words = lot_words(title, description) FROM batch
            WHERE lots.auction_id = batch.auction_id AND lots.words IS NULL)
        SELECT max(auction_id) INTO last_id FROM batch;
        EXIT WHEN last_id IS NULL;
        COMMIT;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- An index whose building broke off is there and is not used.
DROP INDEX CONCURRENTLY IF EXISTS lots_words_idx;
CREATE INDEX CONCURRENTLY lots_words_idx ON lots USING gin (words);

-- +goose Down
DROP TRIGGER lots_words ON lots;
ALTER TABLE lots DROP COLUMN words;
DROP FUNCTION lots_fill_words, lot_query, lot_words, spaced_part, unspaced_pairs, fold_text;
