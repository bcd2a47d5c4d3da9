package peer

import (
	"context"
	"errors"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
)

// gRPC carries the calls: it multiplexes them over one connection, passes on
// deadlines and cancellation. It knows one method, whose messages are bytes;
// which of our methods is meant is told in the metadata, and whether the
// handler failed in the answer's first byte, so that a gRPC status always
// speaks of the transport and never of the handler.
const (
	rpcMethod = "/scrfs.Peer/Call"
	methodKey = "scrfs-method"
)

func newServer(n *node) *grpc.Server {
	s := grpc.NewServer(
		grpc.Creds(greeted{}),
		grpc.ForceServerCodecV2(rawCodec{}),
		grpc.MaxRecvMsgSize(MaxCallBytes+1),
		grpc.MaxSendMsgSize(MaxCallBytes+1),
		grpc.WaitForHandlers(true),
		// The window that one call may fill before it is read; gRPC's 64 KiB
		// would make a big answer wait for many round trips.
		grpc.InitialWindowSize(1<<20),
		grpc.InitialConnWindowSize(8<<20),
	)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "scrfs.Peer",
		HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{
			MethodName: "Call",
			Handler: func(_ any, ctx context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
				return n.serveRPC(ctx, decode)
			},
		}},
	}, n)
	return s
}

func (n *node) serveRPC(ctx context.Context, decode func(any) error) (any, error) {
	p, ok := grpcpeer.FromContext(ctx)
	name, isName := p.AuthInfo.(peerName)
	md, _ := metadata.FromIncomingContext(ctx)
	method := md.Get(methodKey)
	if !ok || !isName || len(method) != 1 {
		return nil, status.Error(codes.InvalidArgument, "call without method")
	}
	var req answer
	if err := decode(&req); err != nil {
		return nil, err
	}
	a := n.serveCall(ctx, NodeID(name), method[0], req.body)
	return &a, nil
}

// invoke sends one call over a connection.
func invoke(ctx context.Context, cc *grpc.ClientConn, method string, req []byte) (answer, error) {
	ctx = metadata.AppendToOutgoingContext(ctx, methodKey, method)
	var a answer
	err := cc.Invoke(ctx, rpcMethod, &answer{answerOK, req}, &a)
	if err == nil {
		return a, nil
	}
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		return a, fmt.Errorf("%w: %w", ErrUnreachable, context.DeadlineExceeded)
	case codes.Canceled:
		if ctx.Err() != nil {
			return a, ctx.Err()
		}
	}
	return a, fmt.Errorf("%w: %w", ErrUnreachable, err)
}

func dialOptions(dial func(context.Context, string) (net.Conn, error)) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithContextDialer(dial),
		grpc.WithTransportCredentials(greeted{}),
		grpc.WithDefaultCallOptions(
			grpc.ForceCodecV2(rawCodec{}),
			grpc.MaxCallRecvMsgSize(MaxCallBytes+1),
			grpc.MaxCallSendMsgSize(MaxCallBytes+1),
		),
		grpc.WithInitialWindowSize(1 << 20),
		grpc.WithInitialConnWindowSize(8 << 20),
		grpc.WithIdleTimeout(0), // the pool decides how long a connection lives
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithNoProxy(),
	}
}

// rawCodec passes an answer as its kind and its bytes.
type rawCodec struct{}

func (rawCodec) Name() string { return "scrfs" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	a, ok := v.(*answer)
	if !ok {
		return nil, fmt.Errorf("marshal %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer([]byte{a.kind}), mem.SliceBuffer(a.body)}, nil
}

func (rawCodec) Unmarshal(data mem.BufferSlice, v any) error {
	a, ok := v.(*answer)
	if !ok {
		return fmt.Errorf("unmarshal into %T", v)
	}
	b := data.Materialize()
	if len(b) == 0 {
		return errors.New("empty message")
	}
	a.kind, a.body = b[0], b[1:]
	return nil
}

// greeted tells gRPC that its connections are authenticated already, and by
// whom.
type greeted struct{}

// peerName is the name that the greeting told.
type peerName NodeID

// AuthType names the greeting.
func (peerName) AuthType() string { return "scrfs" }

func (greeted) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	n, ok := c.(*namedConn)
	if !ok {
		return nil, nil, fmt.Errorf("BUG: connection %T was not greeted", c)
	}
	return c, peerName(n.peer), nil
}

func (greeted) ClientHandshake(_ context.Context, _ string, c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return c, peerName(""), nil
}

func (greeted) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "scrfs"}
}

func (greeted) Clone() credentials.TransportCredentials { return greeted{} }

func (greeted) OverrideServerName(string) error { return nil }
