// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package dedup

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
)

// canonicalData is the canonical form of a value within a message.
func canonicalData(t *testing.T, value string) string {
	t.Helper()
	body, err := canonicalBody(json.RawMessage(`{"parts":[{"data":` + value + `}]}`))
	if err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	inner, opened := strings.CutPrefix(string(body), `{"parts":[{"data":`)
	inner, closed := strings.CutSuffix(inner, `}]}`)
	if !opened || !closed {
		t.Fatalf("canonical body is %s", body)
	}
	return inner
}

// The samples of RFC 8785, sections 3.2.2 and 3.2.3, with what is said there of their order, and those of its
// authors' test data.
func TestCanonicalSamples(t *testing.T) {
	for name, test := range map[string]struct{ in, out string }{
		"section 3.2.2": {
			in: `{
  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
  "literals": [null, true, false]
}`,
			out: `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		},
		"section 3.2.3": {
			in: `{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",
"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`,
			out: "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\"," +
				"\"€\":\"Euro Sign\",\"\U0001F600\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		},
		"arrays":              {`[56,{"d":true,"10":null,"1":[ ]}]`, `[56,{"1":[],"10":null,"d":true}]`},
		"no normal form":      {`{"Unnormalized Unicode":"A\u030a"}`, "{\"Unnormalized Unicode\":\"A\u030a\"}"},
		"structures":          {`{"1":{"f":{"f":"hi","F":5},"\n":56.0},"10":{ },"":"empty","a":{ },"111":[{"e":"yes","E":"no"}],"A":{ }}`, `{"":"empty","1":{"\n":56,"f":{"F":5,"f":"hi"}},"10":{},"111":[{"E":"no","e":"yes"}],"A":{},"a":{}}`},
		"nothing for browser": {`{"</script>":"<>&\u2028"}`, "{\"</script>\":\"<>&\u2028\"}"},
		"control characters":  {`"\u0000\u001F\u007f\b\f\t"`, "\"\\u0000\\u001f\u007f\\b\\f\\t\""},
	} {
		if got := canonicalData(t, test.in); got != test.out {
			t.Errorf("%s: got\n%s, want\n%s", name, got, test.out)
		}
	}
}

// RFC 8785, appendix B.
func TestCanonicalNumbers(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0",
		0x8000000000000000: "0",
		0x0000000000000001: "5e-324",
		0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308",
		0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992",
		0xc340000000000000: "-9007199254740992",
		0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22",
		0x44b52d02c7e14af6: "1e+23",
		0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000",
		0x444b1ae4d6e2ef4f: "999999999999999900000",
		0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7",
		0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332",
		0x41b3de4355555554: "333333333.33333325",
		0x41b3de4355555555: "333333333.3333333",
		0x41b3de4355555556: "333333333.3333334",
		0x41b3de4355555557: "333333333.33333343",
		0xbecbf647612f3696: "-0.0000033333333333333333",
		0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		spelled := strconv.FormatFloat(math.Float64frombits(bits), 'e', 30, 64)
		if got := canonicalData(t, spelled); got != want {
			t.Errorf("%016x: %s is %s, want %s", bits, spelled, got, want)
		}
	}
}

func TestCanonicalBody(t *testing.T) {
	for name, test := range map[string]struct{ in, out string }{
		"order of members":       {`{"taskId":"t","referenceTaskIds":["b","a"],"parts":[{"text":"x"}],"contextId":"c"}`, `{"contextId":"c","parts":[{"text":"x"}],"referenceTaskIds":["b","a"],"taskId":"t"}`},
		"null":                   {`{"taskId":null,"referenceTaskIds":null,"parts":null,"contextId":null}`, `{}`},
		"empty":                  {`{"taskId":"","referenceTaskIds":[ ],"parts":[ ],"contextId":""}`, `{}`},
		"missing":                {`{}`, `{}`},
		"other members":          {`{"messageId":"m","role":"ROLE_USER","metadata":{"a":1},"extensions":["u"],"kind":"message"}`, `{}`},
		"optional part members":  {`{"parts":[{"text":"x","filename":"","mediaType":null,"metadata":{ },"raw":null,"url":null}]}`, `{"parts":[{"text":"x"}]}`},
		"empty text is a text":   {`{"parts":[{"text":""}]}`, `{"parts":[{"text":""}]}`},
		"null is data":           {`{"parts":[{"data":null}]}`, `{"parts":[{"data":null}]}`},
		"members nobody knows":   {`{"parts":[{"z<":"","text":"x"}]}`, `{"parts":[{"text":"x","z<":""}]}`},
		"empty things in depth":  {`{"parts":[{"data":{"filename":"","metadata":{ }}}]}`, `{"parts":[{"data":{"filename":"","metadata":{}}}]}`},
		"white space around all": {" { \"parts\" : [ { \"text\" : \"x\" } ] } \n", `{"parts":[{"text":"x"}]}`},
	} {
		got, err := canonicalBody(json.RawMessage(test.in))
		if err != nil || string(got) != test.out {
			t.Errorf("%s: %s, %v, want %s", name, got, err, test.out)
		}
	}
}

func TestNoCanonicalBody(t *testing.T) {
	for in, member := range map[string]string{
		``:                                    "message",
		`null`:                                "message",
		`[]`:                                  "message",
		`"x"`:                                 "message",
		`{`:                                   "message",
		`{"taskId":"t"`:                       "message",
		`{"taskId":"t"} {}`:                   "message",
		`{"taskId":"t","taskId":"u"}`:         "message",
		`{"taskId":7}`:                        "message.taskId",
		`{"contextId":{"a":1}}`:               "message.contextId",
		`{"referenceTaskIds":"t"}`:            "message.referenceTaskIds",
		`{"referenceTaskIds":[1]}`:            "message.referenceTaskIds",
		`{"parts":{"text":"x"}}`:              "message.parts",
		`{"parts":["x"]}`:                     "message.parts: [0]",
		`{"parts":[{"text":"x"},null]}`:       "message.parts: [1]",
		`{"parts":[{"text":"x","text":"y"}]}`: "message.parts",
		`{"parts":[{"data":{"a":1,"\u0061":2}}]}`:      "message.parts",
		`{"parts":[{"text":"\ud800"}]}`:                "message.parts",
		`{"parts":[{"text":"\ude02\ud83d"}]}`:          "message.parts",
		`{"parts":[{"data":{"\ud800":1}}]}`:            "message.parts",
		`{"parts":[{"data":1e400}]}`:                   "message.parts",
		"{\"parts\":[{\"text\":\"\xff\"}]}":            "message.parts",
		`{"contextId":"\udead"}`:                       "message.contextId",
		`{"parts":[{"data":` + deep(20_000) + `}]}`:    "message",
		`{"parts":[{"data":NaN}]}`:                     "message",
		`{"referenceTaskIds":["a","\ud800"]}`:          "message.referenceTaskIds",
		`{"parts":[{"metadata":{"k":1,"k":1}}]}`:       "message.parts",
		`{"parts":[{"text":"x","metadata":{}}],}`:      "message",
		`{"parts":[{"text":"x"}],"contextId":"c"]`:     "message",
		`{"parts":[{"text":"x"}] "contextId":"c"}`:     "message",
		`{"parts":[{"text":"x"}],"contextId":"c"}}`:    "message",
		"{\"parts\":[{\"text\":\"line\nbreak\"}]}":     "message",
		`{"parts":[{"data":01}]}`:                      "message",
		`{"parts":[{"data":[1,]}]}`:                    "message",
		`{"parts":[{"data":tru}]}`:                     "message",
		`{"parts":[{"text":"x","filename":"\ud800"}]}`: "message.parts",
	} {
		body, err := canonicalBody(json.RawMessage(in))
		if err == nil || !strings.HasPrefix(err.Error(), member) {
			t.Errorf("%.60s: body %.60s, error %v, want one that names %s", in, body, err, member)
		}
	}
}

func deep(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }
