// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// errNoMessage says that a gRPC response is not the one message that its method answers with.
var errNoMessage = errors.New("the response is not one message of gRPC")

// transcode reads a gRPC message of any length and returns its JSON form, of which a sieve keeps at most limit bytes. The
// message ends where the frame says, so that the status, which follows it, is read too.
func transcode(in *bufio.Reader, limit int64, d protoreflect.MessageDescriptor) ([]byte, error) {
	var head [frameHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return nil, err
	}
	length := int64(binary.BigEndian.Uint32(head[1:]))
	// Of a length that is divisible by three, so that base64 can be written piece by piece.
	t := &transcoder{in: in, out: &sieve{limit: int(limit)}, limit: limit, buffer: make([]byte, 3<<13)}
	t.message(d, length)
	if errors.Is(t.err, errEnough) {
		t.err = nil
		t.discard(length - t.at)
	}
	if t.err != nil {
		return nil, t.err
	}
	switch _, err := in.ReadByte(); {
	case err == nil:
		return nil, errNoMessage
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return t.out.out, nil
}

// transcoder writes the JSON form of a message in protocol buffers while it is read. What it holds does not grow with the
// message, but for values of a type that google.protobuf defines: these are held as a whole, up to wholeShare of the limit.
type transcoder struct {
	in    *bufio.Reader
	out   *sieve
	limit int64
	// at is how many bytes of the message were read.
	at int64
	// buffer has a piece as it was read, and formed as it is written.
	buffer, formed []byte
	// err is what ended it. Nothing is read or written after it.
	err error
}

func (t *transcoder) fail(err error) {
	if t.err == nil {
		t.err = err
	}
}

func (t *transcoder) emit(b []byte) {
	if t.err != nil {
		return
	}
	_, _ = t.out.Write(b) // it never fails
	if err := t.out.enough(t.at, t.limit*readShare); err != nil {
		t.fail(err)
	}
}

// message writes a message of so many bytes as an object.
func (t *transcoder) message(d protoreflect.MessageDescriptor, length int64) {
	end := t.at + length
	var o members
	t.emit([]byte{'{'})
	for t.err == nil && t.at < end {
		number, kind := protowire.DecodeTag(t.varint())
		f := d.Fields().ByNumber(number)
		if f == nil || !readable(f, kind) {
			t.skip(kind, end)
			continue
		}
		begin, ok := o.next(f)
		if !ok {
			t.fail(errNoMessage)
		}
		t.emit(begin)
		t.value(f, end)
	}
	if t.at != end {
		t.fail(errNoMessage)
	}
	t.emit(o.end())
}

// readable reports whether a field is of a type that this package reads, and encoded as it has to be. One that is not is
// skipped, as a field of a later version is.
func readable(f protoreflect.FieldDescriptor, kind protowire.Type) bool {
	switch f.Kind() {
	case protoreflect.StringKind, protoreflect.BytesKind, protoreflect.MessageKind:
		return kind == protowire.BytesType && !f.IsMap()
	case protoreflect.EnumKind, protoreflect.Int32Kind:
		return kind == protowire.VarintType
	}
	return false
}

// value writes the value of a field in a message that ends there.
func (t *transcoder) value(f protoreflect.FieldDescriptor, end int64) {
	switch {
	case f.Kind() == protoreflect.StringKind:
		t.quote(t.length(end), appendEscaped)
	case f.Kind() == protoreflect.BytesKind:
		t.quote(t.length(end), base64.StdEncoding.AppendEncode)
	case f.Kind() != protoreflect.MessageKind:
		// A negative number has ten bytes, of which the lower four are the number. An enum's is its name's, as JSON allows.
		t.emit(strconv.AppendInt(nil, int64(int32(t.varint())), 10)) //nolint:gosec // it wraps as protocol buffers have it
	case f.Message().ParentFile().Package() == "google.protobuf":
		t.wellKnown(f, t.length(end))
	default:
		t.message(f.Message(), t.length(end))
	}
}

// wellKnown writes a time, metadata, or data, whose JSON form is a matter of their own. Of data that is too long nothing is
// known: the members of an object have no order in protocol buffers, so that it has no digest.
func (t *transcoder) wellKnown(f protoreflect.FieldDescriptor, length int64) {
	if length > t.limit/wholeShare {
		t.discard(length)
	} else {
		raw := make([]byte, 0, length)
		t.pieces(length, func(b []byte) { raw = append(raw, b...) })
		if plain, ok := plainJSON(f.Message().FullName(), raw); ok {
			t.emit(plain)
			return
		}
	}
	t.emit([]byte("null"))
	if f.JSONName() == "data" {
		t.emit(omission{}.member())
	}
}

// quote writes a string that is made of so many bytes, each piece of which form gives its form in JSON.
func (t *transcoder) quote(length int64, form func(out, piece []byte) []byte) {
	t.emit([]byte{'"'})
	t.pieces(length, func(b []byte) {
		t.formed = form(t.formed[:0], b)
		t.emit(t.formed)
	})
	t.emit([]byte{'"'})
}

// pieces reads so many bytes and hands them to take, which may not keep them.
func (t *transcoder) pieces(length int64, take func([]byte)) {
	for length > 0 && t.err == nil {
		n, err := io.ReadFull(t.in, t.buffer[:min(length, int64(len(t.buffer)))])
		t.at, length = t.at+int64(n), length-int64(n)
		if err != nil {
			t.fail(io.ErrUnexpectedEOF)
			return
		}
		take(t.buffer[:n])
	}
}

// skip passes over the value of a field in a message that ends there.
func (t *transcoder) skip(kind protowire.Type, end int64) {
	switch kind {
	case protowire.VarintType:
		t.varint()
	case protowire.Fixed32Type:
		t.discard(4)
	case protowire.Fixed64Type:
		t.discard(8)
	case protowire.BytesType:
		t.discard(t.length(end))
	default:
		t.fail(errNoMessage)
	}
}

func (t *transcoder) discard(length int64) {
	if t.err != nil {
		return
	}
	n, err := io.CopyN(io.Discard, t.in, length)
	t.at += n
	if err != nil {
		t.fail(io.ErrUnexpectedEOF)
	}
}

// length reads how long a value is, of a message that ends there.
func (t *transcoder) length(end int64) int64 {
	n := t.varint()
	if t.err == nil && n > uint64(max(end-t.at, 0)) {
		t.fail(errNoMessage)
	}
	if t.err != nil {
		return 0
	}
	return int64(n) //nolint:gosec // at most what is left
}

func (t *transcoder) varint() uint64 {
	if t.err != nil {
		return 0
	}
	n, err := binary.ReadUvarint(counted{t.in, &t.at})
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		t.fail(io.ErrUnexpectedEOF)
	case err != nil:
		t.fail(errNoMessage)
	}
	return n
}

// counted counts the bytes that are read one by one.
type counted struct {
	io.ByteReader
	count *int64
}

// ReadByte implements io.ByteReader.
func (c counted) ReadByte() (byte, error) {
	b, err := c.ByteReader.ReadByte()
	if err == nil {
		*c.count++
	}
	return b, err
}

// framed reports whether a body begins as a gRPC message that is not compressed.
func framed(body []byte) bool { return len(body) > frameHead && bytes.HasPrefix(body, []byte{0}) }
