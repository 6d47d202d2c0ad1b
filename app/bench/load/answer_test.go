package load

import "testing"

func TestReadAnswer(t *testing.T) {
	t.Parallel()
	const bid = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 11\r\n\r\n{\"seq\":307}"
	const page = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n"
	const nothing = "HTTP/1.1 204 No Content\r\nDate: x\r\n\r\n"
	for text, status := range map[string]int{bid: 201, page: 200, nothing: 204} {
		for cut := range len(text) {
			if _, whole, err := readAnswer([]byte(text[:cut])); whole || err != nil {
				t.Fatalf("%d of %q: whole is %v, %v", cut, text, whole, err)
			}
		}
		a, whole, err := readAnswer([]byte(text + "HTTP/1.1 2"))
		if !whole || err != nil || a.Status != status || a.size != len(text) {
			t.Errorf("%q: %+v, %v, %v", text, a, whole, err)
		}
	}
	a, _, _ := readAnswer([]byte(bid))
	if seq := Number(a.Body, `"seq":`); seq != 307 {
		t.Errorf("seq is %d", seq)
	}
	for _, text := range []string{
		"SSH-2.0-OpenSSH_9.2\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		if _, whole, err := readAnswer([]byte(text)); whole || err == nil {
			t.Errorf("%q was read", text)
		}
	}
}

func TestLastCents(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{
		`"currentPrice":"1.00"}` + "\n" + `{"currentPrice":"1234.56"}`: 123456,
		`"currentPrice":"1234.5"}`:                                     -1, `"currentPrice":"1234.56`: -1, `{}`: -1,
	} {
		if cents := LastCents([]byte(text), `"currentPrice":"`); cents != want {
			t.Errorf("%s: %d cents", text, cents)
		}
	}
}
