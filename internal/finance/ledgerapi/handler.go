// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ledgerapi is a ledger as an HTTP service, and a client of it.
//
//	POST /ledger/postings   makes a posting: 201, and the same answer again for the same key and posting
//	GET  /ledger/postings   lists the postings, and how often each was asked for; ?key=PREFIX narrows it
//
// POST needs the header Idempotency-Key (draft-ietf-httpapi-idempotency-key-header): 400 without it, and 422 where the
// key came with another posting before. A repeated answer carries Idempotent-Replayed: true. Keys never expire: an
// entry of a ledger doesn't either.
package ledgerapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/delegation-dev/delegation-operator/internal/finance"
)

// Path is where the postings are.
const Path = "/ledger/postings"

// The headers of a posting and its answer.
const (
	KeyHeader      = "Idempotency-Key"
	ReplayedHeader = "Idempotent-Replayed"
)

const (
	maxBody = 64 << 10 // bytes of a posting
	maxKey  = 255      // bytes of a key
)

// Posted is the answer to a posting.
type Posted struct {
	ID      string          `json:"id"`
	Posting finance.Posting `json:"posting"`
	Created time.Time       `json:"created"`
}

// Handler serves the ledger.
func Handler(store Store) http.Handler {
	h := handler{store}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+Path, h.servePost)
	mux.HandleFunc("GET "+Path, h.serveList)
	return mux
}

type handler struct{ store Store }

func (h handler) servePost(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get(KeyHeader)
	if key == "" || len(key) > maxKey {
		http.Error(w, fmt.Sprintf("header %s is missing or longer than %d bytes: send one that names this posting and no other", KeyHeader, maxKey), http.StatusBadRequest)
		return
	}
	var posting finance.Posting
	decoder := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&posting); err != nil {
		http.Error(w, fmt.Sprintf("body is not a posting: %v", err), http.StatusBadRequest)
		return
	}
	if field := missing(posting); field != "" {
		http.Error(w, fmt.Sprintf("%s is empty: give it a value", field), http.StatusUnprocessableEntity)
		return
	}
	record, replayed, err := h.store.Post(r.Context(), key, posting)
	switch {
	case errors.Is(err, ErrOtherBody):
		http.Error(w, err.Error()+": send the same posting again, or another key", http.StatusUnprocessableEntity)
		return
	case err != nil:
		http.Error(w, "the ledger is not available", http.StatusServiceUnavailable)
		return
	}
	if replayed {
		w.Header().Set(ReplayedHeader, "true")
	}
	answer(w, http.StatusCreated, Posted{ID: record.ID, Posting: record.Posting, Created: record.Created})
}

// missing is the name of a member that a posting must have and this one hasn't, or "".
func missing(p finance.Posting) string {
	switch {
	case p.Account == "":
		return "account"
	case p.Date.IsZero():
		return "date"
	case p.Amount == 0:
		return "amountCents"
	}
	return ""
}

func (h handler) serveList(w http.ResponseWriter, r *http.Request) {
	records, err := h.store.List(r.Context(), r.URL.Query().Get("key"))
	if err != nil {
		http.Error(w, "the ledger is not available", http.StatusServiceUnavailable)
		return
	}
	answer(w, http.StatusOK, records)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client went away
}
