// Scenario plays tests/conformance/scenario.yaml and says each step that passed.
package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	sandbox "sandbox-engine.dev/sdk/go"
	v1 "sandbox-engine.dev/sdk/go/gen/sandbox/v1"
)

const (
	patternSize   = 1 << 20
	patternSHA256 = "f6a34d4c79c3d12c297589206bf216b084347471a53ea5e7fe9a46bd1230f098"
	patience      = 60 * time.Second
)

type player struct {
	client *sandbox.Client
	box    *sandbox.Sandbox
	target string
}

func main() {
	ctx := context.Background()
	p := &player{target: "unix:" + os.Getenv("SANDBOX_GRPC_SOCKET")}
	p.connect()
	steps := []struct {
		name string
		play func(context.Context)
	}{
		{"create", p.create}, {"live_exec", p.liveExec}, {"binary", p.binary},
		{"error", p.errors}, {"cancel", p.cancel}, {"fork", p.fork},
		{"deadline", p.deadline}, {"reconnect", p.reconnect},
	}
	for _, step := range steps {
		if seen := p.attempt(ctx, step.play); seen != nil {
			fmt.Printf("fail %s: %v\n", step.name, seen)
			os.Exit(1)
		}
		fmt.Printf("ok %s\n", step.name)
	}
}

// attempt plays a step; what a check saw comes as a panic, and the sandbox is destroyed then.
func (p *player) attempt(ctx context.Context, play func(context.Context)) (seen any) {
	defer func() {
		if seen = recover(); seen != nil && p.box != nil {
			_ = p.box.Close(ctx)
		}
	}()
	play(ctx)
	return nil
}

func (p *player) connect() { p.client = must(sandbox.Connect(p.target)) }

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(holds bool, seen ...any) {
	if !holds {
		panic(fmt.Sprint(seen...))
	}
}

func pattern() []byte {
	made := make([]byte, patternSize)
	for i := range made {
		made[i] = byte(i*31 + (i >> 8))
	}
	digest := sha256.Sum256(made)
	check(hex.EncodeToString(digest[:]) == patternSHA256, "the pattern is made wrongly")
	return made
}

func (p *player) run(ctx context.Context, box *sandbox.Sandbox, script string) string {
	out, problems, exit, err := box.Run(ctx, script)
	check(err == nil, err)
	check(exit.Code == 0, script, " ended with ", exit, " ", string(problems))
	return string(out)
}

func (p *player) create(ctx context.Context) {
	request := &v1.CreateSandboxRequest{
		Template: "base", RequestId: fmt.Sprint("go-", time.Now().UnixNano()),
		Ttl: durationpb.New(300 * time.Second), PoolWait: durationpb.New(120 * time.Second),
		ClaimRef: "conformance",
	}
	p.box = must(p.client.Create(ctx, request))
	check(strings.HasPrefix(p.box.ID, "sb_"), p.box.ID)
	check(p.box.Info.State == v1.SandboxState_SANDBOX_STATE_RUNNING, p.box.Info)
	check(p.box.Info.Template == "base", p.box.Info)
	again := must(p.client.Create(ctx, request))
	check(again.ID == p.box.ID, again.ID, " is not ", p.box.ID)
}

// outputUntil reads standard output until it is as long as wanted.
func outputUntil(process *sandbox.Process, wanted string) {
	out := ""
	for len(out) < len(wanted) {
		event := must(process.Next())
		check(event.GetExit() == nil, "ended before ", wanted)
		out += string(event.GetOut().GetData())
	}
	check(out == wanted, out)
}

func (p *player) liveExec(ctx context.Context) {
	script := `echo first; read line; echo "got $line"; echo problem >&2; exit 7`
	start := &v1.ExecStart{Argv: []string{script}, Shell: true, Input: true}
	process := must(p.box.Exec(ctx, start))
	outputUntil(process, "first\n")
	must(process.Write([]byte("second\n")))
	must(0, process.CloseInput())
	var out, problems bytes.Buffer
	exit := must(process.Wait(&out, &problems))
	check(out.String() == "got second\n", out.String())
	check(problems.String() == "problem\n", problems.String())
	check(exit.Code == 7 && exit.Signal == 0 && !exit.TimedOut && !exit.Truncated, exit)
	check(exit.OutTotal == 17 && exit.ErrTotal == 8, exit)
}

func (p *player) binary(ctx context.Context) {
	data := pattern()
	process := must(p.box.Exec(ctx, &v1.ExecStart{Argv: []string{"cat"}, Input: true}))
	sent := make(chan error, 1)
	go func() {
		_, err := process.Write(data)
		sent <- errors.Join(err, process.CloseInput())
	}()
	var out bytes.Buffer
	exit := must(process.Wait(&out, nil))
	must(0, <-sent)
	check(exit.Code == 0 && bytes.Equal(out.Bytes(), data), "cat: ", exit, out.Len())
	must(0, p.box.WriteFile(ctx, "/workspace/in/pattern", data))
	said := p.run(ctx, p.box, "sha256sum </workspace/in/pattern")
	check(strings.HasPrefix(said, patternSHA256), said)
	read := must(p.box.ReadFile(ctx, "/workspace/in/pattern"))
	check(bytes.Equal(read, data), "read back: ", len(read))
}

func (p *player) errors(ctx context.Context) {
	var found *sandbox.Error
	_, err := p.box.ReadFile(ctx, "/workspace/missing")
	check(errors.As(err, &found), err)
	check(found.Reason == "PATH_NOT_FOUND" && found.Domain == "sandbox-engine", found.Reason)
	_, err = p.client.Create(ctx, &v1.CreateSandboxRequest{Template: "no-such-template"})
	check(errors.As(err, &found), err)
	check(found.Reason == "TEMPLATE_NOT_FOUND", found.Reason)
	check(found.Metadata["name"] == "no-such-template", found.Metadata)
}

// gone waits until no process of the sandbox has this command line.
func (p *player) gone(ctx context.Context, first, rest string) {
	count := fmt.Sprintf(`cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\0' ' ' | grep -c '[%s]%s' || true`,
		first, rest)
	said := ""
	for began := time.Now(); time.Since(began) < patience; {
		if said = p.run(ctx, p.box, count); said == "0\n" {
			return
		}
	}
	check(false, "still there: ", said)
}

func (p *player) cancel(ctx context.Context) {
	within, cancel := context.WithCancel(ctx)
	start := &v1.ExecStart{Argv: []string{"echo up; exec sleep 4321"}, Shell: true}
	process := must(p.box.Exec(within, start))
	outputUntil(process, "up\n")
	cancel()
	_, err := process.Wait(nil, nil)
	check(errors.Is(err, context.Canceled), err)
	p.gone(ctx, "s", "leep 4321")
}

func (p *player) fork(ctx context.Context) {
	p.run(ctx, p.box, "echo parent >/workspace/who; echo 1 >/dev/shm/memory")
	children := must(p.box.Fork(ctx, &v1.ForkSandboxRequest{
		Count: 1, Ttl: durationpb.New(300 * time.Second),
	}))
	check(len(children) == 1, children)
	child := children[0]
	defer func() { _ = child.Close(ctx) }()
	check(child.ID != p.box.ID && child.Info.ParentId == p.box.ID, child.Info)
	p.run(ctx, child, "echo child >/workspace/who")
	p.run(ctx, p.box, "echo 2 >/dev/shm/memory")
	seen := []string{
		p.run(ctx, p.box, "cat /workspace/who"), p.run(ctx, child, "cat /workspace/who"),
		p.run(ctx, p.box, "cat /dev/shm/memory"), p.run(ctx, child, "cat /dev/shm/memory"),
	}
	check(strings.Join(seen, "") == "parent\nchild\n2\n1\n", seen)
	must(0, child.Close(ctx))
	_, err := p.client.Sandboxes.GetSandbox(ctx, &v1.GetSandboxRequest{SandboxId: child.ID})
	check(sandbox.HasReason(err, "SANDBOX_NOT_FOUND"), err)
}

func (p *player) deadline(ctx context.Context) {
	sleep := []string{"sleep", "4322"}
	within, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	process, err := p.box.Exec(within, &v1.ExecStart{Argv: sleep})
	if err == nil {
		_, err = process.Wait(nil, nil)
	}
	check(errors.Is(err, context.DeadlineExceeded), err)
	p.gone(ctx, "s", "leep 4322")
	start := &v1.ExecStart{Argv: sleep, Timeout: durationpb.New(time.Second)}
	exit := must(must(p.box.Exec(ctx, start)).Wait(nil, nil))
	check(exit.TimedOut, exit)
}

func (p *player) reconnect(ctx context.Context) {
	p.run(ctx, p.box, "echo kept >/workspace/kept")
	must(0, p.client.Close())
	p.connect()
	p.box = p.client.Sandbox(p.box.ID)
	request := &v1.GetSandboxRequest{SandboxId: p.box.ID}
	found := must(p.client.Sandboxes.GetSandbox(ctx, request)).Sandbox
	check(found.State == v1.SandboxState_SANDBOX_STATE_RUNNING, found)
	kept := must(p.box.ReadFile(ctx, "/workspace/kept"))
	check(string(kept) == "kept\n", string(kept))
	must(0, p.box.Close(ctx))
	must(0, p.box.Close(ctx))
}
