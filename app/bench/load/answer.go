package load

import (
	"bytes"
	"errors"
	"strconv"
)

// errNotHTTP says that what a node sent is no answer this program can read.
var errNotHTTP = errors.New("bench: not an HTTP/1.1 answer")

var (
	headEnd       = []byte("\r\n\r\n")
	lineEnd       = []byte("\r\n")
	contentLength = []byte("\r\nContent-Length: ")
	chunked       = []byte("\r\nTransfer-Encoding: chunked\r\n")
)

// Answer is a node's answer to one request. The body of a chunked answer still has its chunks'
// frames in it.
type Answer struct {
	Status int
	Body   []byte
	size   int // bytes of the whole answer
}

// readAnswer reads the answer that data begins with; whole is false while some of it is missing.
// It reads what Go's own server writes, with its spelling of headers, and nothing more: it stands
// in the way of what is measured.
func readAnswer(data []byte) (a Answer, whole bool, err error) {
	end := bytes.Index(data, headEnd)
	if end < 0 {
		return a, false, nil
	}
	head := data[:end+len(lineEnd)]
	if len(head) < len("HTTP/1.1 200") || string(head[:9]) != "HTTP/1.1 " {
		return a, false, errNotHTTP
	}
	if a.Status, err = strconv.Atoi(string(head[9:12])); err != nil {
		return a, false, errNotHTTP
	}
	rest := data[end+len(headEnd):]
	length, err := bodyLength(head, rest)
	if err != nil || length < 0 || length > len(rest) {
		return a, false, err
	}
	a.Body, a.size = rest[:length], end+len(headEnd)+length
	return a, true, nil
}

// bodyLength is how many bytes the body takes on the wire, or -1 when that cannot be known yet.
func bodyLength(head, rest []byte) (int, error) {
	if at := bytes.Index(head, contentLength); at >= 0 {
		digits := head[at+len(contentLength):]
		length, err := strconv.Atoi(string(digits[:bytes.Index(digits, lineEnd)]))
		if err != nil || length < 0 {
			return 0, errNotHTTP
		}
		return length, nil
	}
	if bytes.Contains(head, chunked) {
		return chunkedLength(rest)
	}
	return 0, nil // an answer without a body
}

func chunkedLength(rest []byte) (int, error) {
	for at := 0; ; {
		end := bytes.Index(rest[at:], lineEnd)
		if end < 0 {
			return -1, nil
		}
		size, err := strconv.ParseUint(string(rest[at:at+end]), 16, 31)
		if err != nil {
			return 0, errNotHTTP
		}
		at += end + len(lineEnd) + int(size) + len(lineEnd)
		switch {
		case at > len(rest):
			return -1, nil
		case size == 0:
			return at, nil
		}
	}
}

// Number reads the whole number that follows a mark in a body, or 0.
func Number(body []byte, mark string) (n int64) {
	at := bytes.Index(body, []byte(mark))
	if at < 0 {
		return 0
	}
	for _, b := range body[at+len(mark):] {
		if b < '0' || b > '9' {
			break
		}
		n = n*10 + int64(b-'0')
	}
	return n
}

// LastCents reads the decimal string with two decimals that follows the last mark in a body, in
// cents, or -1.
func LastCents(body []byte, mark string) int64 {
	at := bytes.LastIndex(body, []byte(mark))
	if at < 0 {
		return -1
	}
	n, decimals := int64(0), -1
	for _, b := range body[at+len(mark):] {
		switch {
		case b >= '0' && b <= '9':
			n = n*10 + int64(b-'0')
			if decimals >= 0 {
				decimals++
			}
		case b == '.' && decimals < 0:
			decimals = 0
		default:
			if b == '"' && decimals == 2 {
				return n
			}
			return -1
		}
	}
	return -1
}
