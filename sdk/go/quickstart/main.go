// Quickstart runs a command in a new sandbox and shows its output as it comes.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"google.golang.org/protobuf/types/known/durationpb"

	sandbox "sandbox-engine.dev/sdk/go"
	v1 "sandbox-engine.dev/sdk/go/gen/sandbox/v1"
)

func main() {
	if err := run(context.Background(), "unix:"+os.Getenv("SANDBOX_GRPC_SOCKET")); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, target string) error {
	client, err := sandbox.Connect(target)
	if err != nil {
		return err
	}
	defer client.Close()

	box, err := client.Create(ctx, &v1.CreateSandboxRequest{
		Template: "base",
		PoolWait: durationpb.New(120e9),
	})
	if err != nil {
		return err
	}
	defer box.Close(ctx)

	if err := box.WriteFile(ctx, "/workspace/name", []byte("world")); err != nil {
		return err
	}
	process, err := box.Exec(ctx, &v1.ExecStart{
		Argv:  []string{`echo "hello $(cat /workspace/name)"`},
		Shell: true,
	})
	if err != nil {
		return err
	}
	exit, err := process.Wait(os.Stdout, os.Stderr)
	if err != nil {
		return err
	}
	fmt.Println("exit", exit.Code)
	return nil
}
