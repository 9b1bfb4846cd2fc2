package sandbox

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Error is what the engine says of a call that failed.  Find it with errors.As; a deadline and
// a cancellation also answer errors.Is of the context's errors.
type Error struct {
	Code     codes.Code
	Message  string
	Reason   string // name in the registry of errors.proto, without ERROR_REASON_
	Domain   string
	Metadata map[string]string
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.name(), e.Message) }

func (e *Error) name() string {
	if e.Reason != "" {
		return e.Reason
	}
	return e.Code.String()
}

// Unwrap gives the context's own error for a deadline or a cancellation.
func (e *Error) Unwrap() error {
	switch e.Code {
	case codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case codes.Canceled:
		return context.Canceled
	default:
		return nil
	}
}

// GRPCStatus lets status.FromError and status.Code read it.
func (e *Error) GRPCStatus() *status.Status { return status.New(e.Code, e.Message) }

// HasReason says whether err is the engine's, for this reason.
func HasReason(err error, reason string) bool {
	var found *Error
	return errors.As(err, &found) && found.Reason == reason
}

func typed(err error) error {
	told, ok := status.FromError(err)
	if err == nil || !ok {
		return err
	}
	made := &Error{Code: told.Code(), Message: told.Message()}
	for _, detail := range told.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			made.Reason, made.Domain, made.Metadata = info.Reason, info.Domain, info.Metadata
		}
	}
	return made
}

func typedUnary(
	ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	return typed(invoke(ctx, method, request, reply, conn, options...))
}

func typedStream(
	ctx context.Context, desc *grpc.StreamDesc, conn *grpc.ClientConn, method string,
	open grpc.Streamer, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	stream, err := open(ctx, desc, conn, method, options...)
	return typedErrors{stream}, typed(err)
}

type typedErrors struct{ grpc.ClientStream }

func (s typedErrors) RecvMsg(message any) error { return typed(s.ClientStream.RecvMsg(message)) }
