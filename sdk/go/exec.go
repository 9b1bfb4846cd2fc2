package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"

	v1 "sandbox-engine.dev/sdk/go/gen/sandbox/v1"
)

// Piece is the most bytes that one message of a file or of input carries.
const Piece = 64 << 10

// Process is a command that runs.  One goroutine may read while another writes.
type Process struct {
	stream grpc.BidiStreamingClient[v1.ExecRequest, v1.ExecResponse]
	cancel context.CancelFunc
}

// Exec starts a command; start.Input says whether it gets input.  Cancelling ctx kills it.
func (s *Sandbox) Exec(ctx context.Context, start *v1.ExecStart) (*Process, error) {
	start.SandboxId = s.ID
	within, cancel := context.WithCancel(ctx)
	stream, err := s.client.Guests.Exec(within)
	if err == nil {
		err = send(stream, &v1.ExecRequest{Message: &v1.ExecRequest_Start{Start: start}})
	}
	if err != nil {
		cancel()
		return nil, err
	}
	return &Process{stream, cancel}, nil
}

// send reports why a stream has ended instead of the io.EOF that gRPC gives a sender.
func send(stream grpc.BidiStreamingClient[v1.ExecRequest, v1.ExecResponse], m *v1.ExecRequest) error {
	err := stream.Send(m)
	if !errors.Is(err, io.EOF) {
		return typed(err)
	}
	for {
		if _, err = stream.Recv(); err != nil {
			return err
		}
	}
}

// Next waits for what comes next: started, output of either kind, or the exit.  After the exit
// it gives io.EOF.
func (p *Process) Next() (*v1.ExecResponse, error) { return p.stream.Recv() }

// Write sends input, in pieces.
func (p *Process) Write(data []byte) (int, error) {
	sent := 0
	for sent < len(data) {
		piece := data[sent:min(sent+Piece, len(data))]
		input := &v1.ExecRequest_Input{Input: &v1.ExecInput{Data: piece}}
		if err := p.stream.Send(&v1.ExecRequest{Message: input}); err != nil {
			return sent, err
		}
		sent += len(piece)
	}
	return sent, nil
}

// CloseInput ends the input; output goes on.
func (p *Process) CloseInput() error {
	ended := &v1.ExecRequest_CloseInput{CloseInput: &v1.ExecCloseInput{}}
	return p.stream.Send(&v1.ExecRequest{Message: ended})
}

// Wait copies outputs as they come (a nil writer drops them) until the command has ended.
func (p *Process) Wait(out, err io.Writer) (*v1.ExecExit, error) {
	defer p.Close()
	for {
		event, failed := p.Next()
		if failed != nil {
			return nil, failed
		}
		switch event := event.Message.(type) {
		case *v1.ExecResponse_Out:
			failed = put(out, event.Out.Data)
		case *v1.ExecResponse_Err:
			failed = put(err, event.Err.Data)
		case *v1.ExecResponse_Exit:
			return event.Exit, nil
		}
		if failed != nil {
			return nil, failed
		}
	}
}

func put(writer io.Writer, data []byte) error {
	if writer == nil {
		return nil
	}
	_, err := writer.Write(data)
	return err
}

// Close ends the call: a command that still runs is killed.
func (p *Process) Close() { p.cancel() }

// Run runs a shell script to its end and gives both outputs.
func (s *Sandbox) Run(ctx context.Context, script string) (out, err []byte, exit *v1.ExecExit, failed error) {
	process, failed := s.Exec(ctx, &v1.ExecStart{Argv: []string{script}, Shell: true})
	if failed != nil {
		return nil, nil, nil, failed
	}
	var first, second bytes.Buffer
	exit, failed = process.Wait(&first, &second)
	return first.Bytes(), second.Bytes(), exit, failed
}

// ReadFile reads a whole file.
func (s *Sandbox) ReadFile(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.client.Guests.ReadFile(ctx, &v1.ReadFileRequest{SandboxId: s.ID, Path: path})
	if err != nil {
		return nil, err
	}
	var data bytes.Buffer
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return data.Bytes(), nil
		}
		if err != nil {
			return nil, err
		}
		data.Write(piece.GetData())
	}
}

// WriteFile writes a whole file and makes its parents.
func (s *Sandbox) WriteFile(ctx context.Context, path string, data []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := s.client.Guests.WriteFile(ctx)
	if err != nil {
		return err
	}
	start := &v1.WriteFileStart{SandboxId: s.ID, Path: path, Parents: true}
	err = stream.Send(&v1.WriteFileRequest{Message: &v1.WriteFileRequest_Start{Start: start}})
	for at := 0; at < len(data) && err == nil; at += Piece {
		piece := data[at:min(at+Piece, len(data))]
		err = stream.Send(&v1.WriteFileRequest{Message: &v1.WriteFileRequest_Data{Data: piece}})
	}
	if err == nil {
		done := &v1.WriteFileRequest_Done{Done: &v1.WriteFileDone{}}
		err = stream.Send(&v1.WriteFileRequest{Message: done})
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return typed(err)
	}
	_, err = stream.CloseAndRecv()
	return err
}
