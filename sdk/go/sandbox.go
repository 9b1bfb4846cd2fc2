// Package sandbox is a thin layer over the generated gRPC client of sandbox-engine.
//
// It connects, creates sandboxes, runs commands with live output, moves files and forks.
// Everything else the API has is on Client.Sandboxes, Client.Guests and Client.Conn.
// Contexts carry deadlines and cancellation: cancelling the context of a running command
// kills the command in the guest.
package sandbox

import (
	"context"
	"crypto/tls"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	v1 "sandbox-engine.dev/sdk/go/gen/sandbox/v1"
)

// Version of this package; it is the version of the engine's API that it was made from.
const Version = "0.1.0"

// Client is one connection to an engine.  It is safe for concurrent use.
type Client struct {
	Conn      *grpc.ClientConn
	Sandboxes v1.SandboxServiceClient
	Guests    v1.GuestServiceClient
}

// Option changes how Connect dials.
type Option func(*settings)

type settings struct {
	transport credentials.TransportCredentials
	token     string
}

// WithToken sends a bearer token with every call.
func WithToken(token string) Option { return func(s *settings) { s.token = token } }

// WithTLS dials with TLS; nil takes the system's authorities.
func WithTLS(config *tls.Config) Option {
	return func(s *settings) { s.transport = credentials.NewTLS(config) }
}

// Connect prepares a connection to "unix:/path/of/grpc.sock" or "host:port".  The first call
// dials; a connection that is lost is dialled anew.
func Connect(target string, options ...Option) (*Client, error) {
	chosen := settings{transport: insecure.NewCredentials()}
	for _, option := range options {
		option(&chosen)
	}
	dial := []grpc.DialOption{
		grpc.WithTransportCredentials(chosen.transport),
		grpc.WithUnaryInterceptor(typedUnary),
		grpc.WithStreamInterceptor(typedStream),
	}
	if chosen.token != "" {
		dial = append(dial, grpc.WithPerRPCCredentials(bearer(chosen.token)))
	}
	conn, err := grpc.NewClient(target, dial...)
	if err != nil {
		return nil, err
	}
	return &Client{conn, v1.NewSandboxServiceClient(conn), v1.NewGuestServiceClient(conn)}, nil
}

// Close ends the connection and every call on it.  Sandboxes stay until their lease ends.
func (c *Client) Close() error { return c.Conn.Close() }

type bearer string

func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(b)}, nil
}

func (bearer) RequireTransportSecurity() bool { return false }

// Sandbox is a handle; making one costs no call.
type Sandbox struct {
	ID string
	// Info is what the engine said when the handle was made; nil from Client.Sandbox.
	Info   *v1.Sandbox
	client *Client
}

// Sandbox is a handle of a sandbox that exists.
func (c *Client) Sandbox(id string) *Sandbox { return &Sandbox{ID: id, client: c} }

// Create makes a sandbox.
func (c *Client) Create(ctx context.Context, request *v1.CreateSandboxRequest) (*Sandbox, error) {
	made, err := c.Sandboxes.CreateSandbox(ctx, request)
	if err != nil {
		return nil, err
	}
	return c.handle(made.Sandbox), nil
}

func (c *Client) handle(info *v1.Sandbox) *Sandbox { return &Sandbox{info.Id, info, c} }

// Fork makes children that begin as copies of the sandbox, memory included.
func (s *Sandbox) Fork(ctx context.Context, request *v1.ForkSandboxRequest) ([]*Sandbox, error) {
	request.SandboxId = s.ID
	made, err := s.client.Sandboxes.ForkSandbox(ctx, request)
	if err != nil {
		return nil, err
	}
	children := make([]*Sandbox, 0, len(made.Children))
	for _, child := range made.Children {
		children = append(children, s.client.handle(child.Sandbox))
	}
	return children, nil
}

// Close destroys the sandbox; one that is gone already is no error.
func (s *Sandbox) Close(ctx context.Context) error {
	request := &v1.DestroySandboxRequest{SandboxId: s.ID, AllowMissing: true}
	_, err := s.client.Sandboxes.DestroySandbox(ctx, request)
	return err
}
