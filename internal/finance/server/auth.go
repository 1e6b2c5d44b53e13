package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2asrv"
)

// The names of the agent's two users. The anonymous one has a name only because the SDK's task store
// lists no tasks for a caller without; it counts as not authenticated everywhere else.
const (
	bearerUser    = "bearer"
	anonymousUser = "anonymous"
)

type principalKey struct{}

// principalOf is the authenticated caller of a request, or "".
func principalOf(ctx context.Context) string {
	name, _ := ctx.Value(principalKey{}).(string)
	return name
}

// authenticate lets requests with the token through, and all where there is none to check. It answers the
// others with 401 and the challenge that A2A 1.0 section 3.3.2 asks for.
func authenticate(token string, next http.Handler) http.Handler {
	if token == "" {
		return next
	}
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, credentials, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		got := sha256.Sum256([]byte(credentials))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "this agent needs a bearer token", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), principalKey{}, bearerUser)))
	})
}

// nameUser tells the SDK who calls.
type nameUser struct {
	a2asrv.PassthroughCallInterceptor
}

// Before implements [a2asrv.CallInterceptor].
func (nameUser) Before(ctx context.Context, call *a2asrv.CallContext, _ *a2asrv.Request) (context.Context, any, error) {
	if name := principalOf(ctx); name != "" {
		call.User = a2asrv.NewAuthenticatedUser(name, nil)
	} else {
		call.User = &a2asrv.User{Name: anonymousUser}
	}
	return ctx, nil, nil
}
